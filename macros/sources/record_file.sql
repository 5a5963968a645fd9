{#- The records of a JSON file as a table of their places and texts: one array, or one record a line.
    Returns {location, columns, relation}. -#}
{% macro find_records_in_file(path) %}
    {% set answer = fromjson(
        run_query("select medeval_record_file('" ~ sql_text(path) ~ "')").rows[0][0]
    ) %}
    {% if 'problem' in answer %}
        {% do exceptions.raise_compiler_error(answer.problem) %}
    {% endif %}
    {% if answer.form == 'array' %}
        {% set records = 'select cast(entry.key as bigint) + 1 as line_number, '
            ~ "cast(entry.value as varchar) as record from file, json_each(file.content) as entry" %}
    {% else %}
        {% set records = 'select line_number, record from file, '
            ~ 'unnest(string_to_array(file.content, chr(10))) '
            ~ "with ordinality as lines (record, line_number) where trim(record, E' \\t\\r') <> ''" %}
    {% endif %}
    {{ return({
        'location': path,
        'columns': ['line_number', 'record'],
        'relation': "(with file as (select content from read_text('" ~ sql_text(path) ~ "')) "
            ~ records ~ ') as records'
    }) }}
{% endmacro %}
