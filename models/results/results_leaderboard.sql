with scores as (
    select * from {{ ref('results_scores') }}
),

-- A run whose headline is undefined has no place: another metric would take that of the headline.
headlines as (
    select * from scores
    where
        is_headline
        and value is not null
),

-- How far a value is from the best there can be: the smaller, the better.
directed as (
    select
        *,
        case when direction = 'lower' then value else -value end as shortfall
    from headlines
),

-- Equal values share a place, so no key breaks their tie. Other content, or another way of scoring,
-- is another ranking.
ranked as (
    select
        *,
        rank() over (
            partition by task, content_sha256, scored_as, metric, direction
            order by shortfall asc
        ) as rank_in_task
    from directed
),

final as (
    select
        task,
        content_sha256,
        scored_as,
        rank_in_task,
        model,
        run_id,
        metric,
        direction,
        value,
        low,
        high,
        level,
        n,
        data_sha256,
        medeval_version,
        prompt_version,
        made_at,
        cost,
        is_newest_run
    from ranked
)

select * from final
