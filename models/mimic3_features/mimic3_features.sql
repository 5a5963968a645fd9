with observations as (
    select * from {{ ref('int_mimic3__observations') }}
),

means as (
    select * from {{ ref('int_mimic3__sub_window_means') }}
),

deviations as (
    select
        means.icustay_id,
        means.window_hours,
        means.variable_id,
        {{ sub_window_memberships('observations.hours', 'means') }},
        {{ for_each_sub_window('observations.value - means.#_mean as #_deviation') }}
    from observations
    inner join means
        on
            observations.icustay_id = means.icustay_id
            and observations.variable_id = means.variable_id
            and observations.hours <= means.last_hours
),

-- The first is nothing but the rounding of the mean.
moments as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window('avg(#_deviation) filter (where is_in_#) as #_moment_1') }},
        {{ for_each_sub_window(
            'avg(#_deviation * #_deviation) filter (where is_in_#) as #_moment_2'
        ) }},
        {{ for_each_sub_window(
            'avg(#_deviation * #_deviation * #_deviation) filter (where is_in_#) as #_moment_3'
        ) }}
    from deviations
    group by
        icustay_id,
        window_hours,
        variable_id
),

-- About the exact mean, so that a mean of another summing order gives the same.
central_moments as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window('#_moment_2 - #_moment_1 * #_moment_1 as #_variance') }},
        {{ for_each_sub_window(
            '#_moment_3 - 3 * #_moment_1 * #_moment_2 + 2 * #_moment_1 * #_moment_1 * #_moment_1'
            ~ ' as #_third_moment'
        ) }}
    from moments
),

-- A variance that is only rounding (37 and the 37 of 98.6 F, one bit apart) counts as none.
spreads as (
    select
        means.*,
        {{ for_each_sub_window(
            'case when central_moments.#_variance > 1e-30 * means.#_mean * means.#_mean'
            ~ ' then central_moments.#_variance end as #_variance'
        ) }},
        {{ for_each_sub_window('central_moments.#_third_moment') }}
    from means
    inner join central_moments
        on
            means.icustay_id = central_moments.icustay_id
            and means.window_hours = central_moments.window_hours
            and means.variable_id = central_moments.variable_id
),

final as (
    select
        icustay_id,
        window_hours,
        variable_id,
        {{ for_each_sub_window(
            '#_minimum, #_maximum, #_mean, coalesce(sqrt(#_variance), 0) as #_standard_deviation, '
            ~ 'coalesce(#_third_moment / (#_variance * sqrt(#_variance)), 0) as #_skewness, #_count'
        ) }}
    from spreads
)

select * from final
