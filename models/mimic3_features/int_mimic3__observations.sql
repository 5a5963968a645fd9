{#- The three coma scales that are charted in words; the total is charted as a number. -#}
{%- set scales_in_words = [
    'glascow_coma_scale_eye_opening',
    'glascow_coma_scale_motor_response',
    'glascow_coma_scale_verbal_response',
] -%}
{%- set variable_ids, numbers, charted_texts = [], [], [] -%}
{%- for variable in mimic3_variables() -%}
    {%- do variable_ids.append(variable.variable_id) -%}
    {%- do numbers.append('measurements.' ~ variable.column) -%}
    {%- do charted_texts.append(
        'measurements.' ~ variable.column ~ '_text' if variable.column in scales_in_words else 'null'
    ) -%}
{%- endfor -%}

with episode_rows as (
    select * from {{ ref('int_mimic3__episode_rows') }}
    where
        is_in_stay
        or is_in_first_48_hours
),

measurements as (
    select * from {{ ref('int_mimic3__measurements') }}
),

coma_scale_scores as (
    select * from {{ ref('coma_scale_scores') }}
),

readings as (
    select
        episode_rows.icustay_id,
        episode_rows.hours,
        {{ one_row_each({
            'variable_id': variable_ids, 'number': numbers, 'charted_text': charted_texts
        }) }}
    from episode_rows
    inner join measurements
        on
            episode_rows.subject_id = measurements.subject_id
            and episode_rows.charttime = measurements.charttime
),

charted as (
    select
        icustay_id,
        variable_id,
        hours,
        number,
        case when number is null then charted_text end as charted_text
    from readings
    where
        number is not null
        or charted_text is not null
),

-- `4 Spontaneously` and `1.0 ET/Trach` begin with their score, `Spontaneously` is looked up.
scored as (
    select
        charted.icustay_id,
        charted.variable_id,
        charted.hours,
        case
            when charted.number is not null then charted.number
            when {{ matches('charted.charted_text', "'^ *[0-9]([.][0-9]*)?([^0-9.]|$)'") }}
                then cast(substr(trim(charted.charted_text), 1, 1) as {{ type_double() }})
            else coma_scale_scores.score
        end as value
    from charted
    left join coma_scale_scores
        on
            charted.variable_id = coma_scale_scores.variable_id
            and {{ folded_case('trim(charted.charted_text)') }}
            = {{ folded_case('coma_scale_scores.charted_text') }}
),

-- Third powers of places in a range must not be lost to 0: PostgreSQL stops. It drops `inf` too.
final as (
    select * from scored
    where
        value = 0
        or abs(value) between 1e-40 and 1e40
)

select * from final
