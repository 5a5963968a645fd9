{%- set two_pressures = "'^[0-9]{1,100}/[0-9]{1,100}$'" -%}
{%- set outcomes = [
    'subject_not_in_cohort', 'empty_hadm', 'no_hadm_in_stay', 'icustay_missing_in_stays',
    'value_missing', 'item_not_mapped', 'charttime_missing', 'value_not_readable',
    'number_but_no_laboratory_text', 'measurement'
] -%}
-- The one pass over the raw events on DuckDB, which stores it as a table; see dbt_project.yml.
with checked_events as (
    select * from {{ ref('int_mimic3__checked_events') }}
),

item_rules as (
    select * from {{ ref('int_mimic3__item_rules') }}
),

readings as (
    select
        *,
        -- Missing where there is no value, or none that counts.
        case when check_failure is null and value is not null then {{ is_number('value') }} end
            as is_number
    from checked_events
),

with_rule as (
    select
        readings.*,
        item_rules.variable_id,
        item_rules.cleaning_rule,
        -- What the rules of these three look at: the unit, and the label of the item.
        case
            when item_rules.cleaning_rule in ('fio2', 'weight', 'height')
                then coalesce({{ folded_case('readings.valueuom') }}, '')
        end as unit,
        item_rules.item_label,
        case
            when readings.is_number and item_rules.itemid is not null
                then {{ number_from_text('readings.value') }}
        end as number
    from readings
    left join item_rules
        on
            readings.itemid = item_rules.itemid
            and readings.check_failure is null
            and readings.value is not null
),

-- Exact text; case matters.
capillary_refill as (
    select
        *,
        case
            when cleaning_rule = 'crr' and value in ('Normal <3 secs', 'Brisk') then 0.0
            when cleaning_rule = 'crr' and value in ('Abnormal >3 secs', 'Delayed') then 1.0
        end as capillary_refill_rate
    from with_rule
),

-- A text with a slash holds both pressures, and must be digits on both sides: up to a hundred, so
-- that a double holds them.
blood_pressure as (
    select
        *,
        case
            when cleaning_rule in ('sbp', 'dbp') and position('/' in value) = 0 then number
            when cleaning_rule = 'sbp' and {{ matches('value', two_pressures) }}
                then cast(split_part(value, '/', 1) as {{ type_double() }})
            when cleaning_rule = 'dbp' and {{ matches('value', two_pressures) }}
                then cast(split_part(value, '/', 2) as {{ type_double() }})
        end as pressure
    from capillary_refill
),

-- Divided by 100 whatever its size, unless the unit is a pressure: 0.5 becomes 0.005.
inspired_oxygen as (
    select
        *,
        case
            when cleaning_rule = 'fio2' and position('torr' in unit) > 0 then number
            when cleaning_rule = 'fio2' then number / 100
        end as fraction
    from blood_pressure
),

-- A laboratory text is digits with an optional point: no sign, blank, exponent, `<` or `>`.
laboratory as (
    select
        *,
        case
            when cleaning_rule in ('lab', 'o2sat')
                then {{ matches('value', "'^([0-9]+[.]?[0-9]*|[.][0-9]+)$'") }}
        end as is_laboratory_text,
        case
            when cleaning_rule = 'lab' then number
            when cleaning_rule = 'o2sat' and number <= 1 then number * 100
            when cleaning_rule = 'o2sat' then number
        end as laboratory_number
    from inspired_oxygen
),

-- From 79 on a temperature is taken for Fahrenheit; unit and label play no part, so 77.5 F stays.
temperature as (
    select
        *,
        case
            when cleaning_rule = 'temperature' and number >= 79 then (number - 32) * 5 / 9
            when cleaning_rule = 'temperature' then number
        end as degrees_celsius
    from laboratory
),

weight as (
    select
        *,
        case
            when cleaning_rule = 'weight' and position('oz' in concat(unit, '|', item_label)) > 0
                then number / 16 * 0.453592
            when cleaning_rule = 'weight' and position('lb' in concat(unit, '|', item_label)) > 0
                then number * 0.453592
            when cleaning_rule = 'weight' then number
        end as kilograms
    from temperature
),

height as (
    select
        *,
        case
            when cleaning_rule = 'height' and position('in' in concat(unit, '|', item_label)) > 0
                then {{ round_half_even('number * 2.54') }}
            when cleaning_rule = 'height' then number
        end as centimetres
    from weight
),

cleaned as (
    select
        *,
        coalesce(
            capillary_refill_rate,
            pressure,
            fraction,
            laboratory_number,
            degrees_celsius,
            kilograms,
            centimetres,
            case when cleaning_rule = 'none' then number end
        ) as cleaned_number,
        -- Coma scale, heart rate, respiratory rate and mean pressure stay as charted.
        case when cleaning_rule = 'none' then value end as charted_text
    from height
),

outcomes as (
    select
        *,
        case
            when check_failure is not null then check_failure
            when value is null then 'value_missing'
            when variable_id is null then 'item_not_mapped'
            when charttime is null then 'charttime_missing'
            when cleaning_rule = 'none' then 'measurement'
            when cleaned_number is null then 'value_not_readable'
            -- A number that is no laboratory text counts only for a subject all of whose values
            -- are numbers: the reference's CSV reader then types the whole column as numbers.
            when cleaning_rule in ('lab', 'o2sat') and not is_laboratory_text
                then 'number_but_no_laboratory_text'
            else 'measurement'
        end as outcome
    from cleaned
),

final as (
    select
        source_table,
        {{ one_of('outcome', outcomes) }} as outcome,
        is_recovered,
        case when outcome <> 'subject_not_in_cohort' then subject_id end as subject_id,
        icustay_id,
        variable_id,
        is_number,
        case when outcome in ('measurement', 'number_but_no_laboratory_text') then charttime end
            as charttime,
        cleaned_number,
        charted_text
    from outcomes
)

select * from final
