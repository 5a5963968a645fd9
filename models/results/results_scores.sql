with scores as (
    select * from {{ ref('stg_results__published_scores') }}
),

-- A model may have several runs of the same content. The one scored last counts, by the moment and
-- then by the id.
runs_in_order as (
    select
        run_id,
        task,
        metric,
        row_number() over (
            partition by model, task, content_sha256, scored_as, metric
            order by made_at desc nulls last, {{ text_order('run_id') }} desc nulls last
        ) as place_from_newest
    from scores
),

final as (
    select
        scores.run_id,
        scores.model,
        scores.task,
        scores.metric,
        scores.is_headline,
        scores.value,
        scores.low,
        scores.high,
        scores.level,
        scores.n,
        scores.n_undefined,
        scores.direction,
        scores.content_sha256,
        scores.data_sha256,
        scores.scored_as,
        scores.medeval_version,
        scores.prompt_version,
        scores.made_at,
        scores.cost,
        runs_in_order.place_from_newest = 1 as is_newest_run
    from scores
    inner join runs_in_order
        on
            scores.run_id = runs_in_order.run_id
            and scores.task = runs_in_order.task
            and scores.metric = runs_in_order.metric
)

select * from final
