-- The records of a JSON file that is one array, with their places.
with file as (
    -- Without a byte order mark, which some editors put in front.
    select ltrim(content, chr(65279)) as content
    from read_text({file})
)
select
    cast(entry.key as bigint) + 1 as line_number,
    cast(entry.value as varchar) as record
from file, json_each(file.content) as entry
