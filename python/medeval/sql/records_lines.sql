-- The records of a JSON file that has one on each line, with the numbers of the lines.
with file as (
    -- Without a byte order mark, which some editors put in front.
    select ltrim(content, chr(65279)) as content
    from read_text({file})
)
select
    lines.line_number,
    lines.record
from file,
    unnest(string_to_array(file.content, chr(10))) with ordinality as lines (record, line_number)
where trim(lines.record, E' \t\r') <> ''
