-- Published scores, with types that DuckDB and PostgreSQL know.
create table if not exists {relation} (
    run_id text,
    model text,
    task text,
    metric text,
    is_headline boolean,
    value double precision,
    low double precision,
    high double precision,
    level double precision,
    n bigint,
    n_undefined bigint,
    direction text,
    content_sha256 text,
    data_sha256 text,
    scored_as text,
    medeval_version text,
    prompt_version text,
    made_at timestamp,
    cost double precision
)
