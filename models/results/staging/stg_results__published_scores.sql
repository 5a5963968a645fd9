with source as (
    select * from {{ source('results', 'published_scores') }}
),

typed as (
    select
        run_id,
        model,
        task,
        metric,
        is_headline,
        value,
        low,
        high,
        level,
        n,
        n_undefined,
        direction,
        content_sha256,
        data_sha256,
        scored_as,
        medeval_version,
        prompt_version,
        made_at,
        cost
    from source
)

select * from typed
