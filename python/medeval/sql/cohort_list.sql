-- The user's list of admissions, numbered as its lines that are not blank. The statement names the
-- file and holds no id, since statements stand in the log.
with file as (
    select content
    from read_text({file})
),
lines as (
    select
        split.line,
        split.line_number
    from file,
        unnest(regexp_split_to_array(file.content, '\r\n|\r|\n')) with ordinality
            as split (line, line_number)
),
ids as (
    select
        trim(line, concat(' ', chr(9), chr(65279))) as hadm_id,
        line_number
    from lines
)
select
    cast(row_number() over (order by line_number) as varchar) as list_position,
    hadm_id
from ids
where hadm_id <> ''
