{%- set one = 'cast(4611686018427387904 as ' ~ type_double() ~ ')' -%}
{%- set moments = [] -%}
{%- for power in ['#_place', '#_place * #_place', '#_place * #_place * #_place'] -%}
    {%- do moments.append(
        'cast(sum(' ~ nearest_bigint(power ~ ' * ' ~ one ~ ' / #_count') ~ ') as bigint) / ' ~ one
        ~ ' as #_moment_' ~ loop.index
    ) -%}
{%- endfor -%}
-- A sum of doubles depends on its order, and that on threads and engine. So a value is its place in
-- the range of its sub-window, from 0 to 1, and of the places, their squares and their third powers
-- whole numbers are summed: the parts that they add to the mean, in units of 2^-62.
with observations as (
    select * from {{ ref('int_mimic3__observations') }}
),

ranges as (
    select * from {{ ref('int_mimic3__sub_window_ranges') }}
),

members as (
    select
        ranges.*,
        observations.value,
        {{ sub_window_memberships('observations.hours', 'ranges') }}
    from observations
    inner join ranges
        on
            observations.icustay_id = ranges.icustay_id
            and observations.variable_id = ranges.variable_id
            and observations.hours <= ranges.last_hours
),

-- Missing where all values are equal. DuckDB would also calculate what a filter leaves out.
places as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window('#_count') }},
        {{ for_each_sub_window(
            'case when is_in_# and #_minimum < #_maximum'
            ~ ' then (value - #_minimum) / (#_maximum - #_minimum) end as #_place'
        ) }}
    from members
    {{ calculated_once() }}
),

-- The parts of a mean sum to less than 2^63, which a bigint holds; its cast is the next double.
moments as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window(moments | join(', ')) }}
    from places
    group by
        icustay_id,
        window_hours,
        variable_id
),

central_moments as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window('#_moment_1') }},
        {{ for_each_sub_window('#_moment_2 - #_moment_1 * #_moment_1 as #_variance') }},
        {{ for_each_sub_window(
            '#_moment_3 - 3 * #_moment_1 * #_moment_2 + 2 * #_moment_1 * #_moment_1 * #_moment_1'
            ~ ' as #_third_moment'
        ) }}
    from moments
),

statistics as (
    select
        ranges.*,
        {{ for_each_sub_window(
            'coalesce(ranges.#_minimum + (ranges.#_maximum - ranges.#_minimum)'
            ~ ' * central_moments.#_moment_1, ranges.#_minimum) as #_mean'
        ) }},
        {{ for_each_sub_window(
            '(ranges.#_maximum - ranges.#_minimum) * sqrt(central_moments.#_variance) as #_spread'
        ) }},
        {{ for_each_sub_window(
            'central_moments.#_third_moment'
            ~ ' / (central_moments.#_variance * sqrt(central_moments.#_variance)) as #_asymmetry'
        ) }}
    from ranges
    inner join central_moments
        on
            ranges.icustay_id = central_moments.icustay_id
            and ranges.window_hours = central_moments.window_hours
            and ranges.variable_id = central_moments.variable_id
),

-- A spread that is only rounding (37 and the 37 of 98.6 F, one bit apart) counts as none.
final as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window(
            '#_minimum, #_maximum, #_mean, '
            ~ 'case when #_spread > 1e-15 * abs(#_mean) then #_spread else 0 end as #_standard_deviation, '
            ~ 'case when #_spread > 1e-15 * abs(#_mean) then #_asymmetry else 0 end as #_skewness, #_count'
        ) }}
    from statistics
)

select * from final
