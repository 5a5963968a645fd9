{#- The notes of a folder of text files or of a JSON Lines file as a table of names and texts, whichever
    of the two is there. Returns {location, columns, relation}. -#}
{% macro find_notes(path) %}
    {% set answer = fromjson(
        run_query("select medeval_note_files('" ~ sql_text(path) ~ "')").rows[0][0]
    ) %}
    {% if 'problem' in answer %}
        {% do exceptions.raise_compiler_error(answer.problem) %}
    {% endif %}
    {% set patterns = [] %}
    {% for file in answer.files %}
        {% do patterns.append("'" ~ sql_text(file_pattern(file)) ~ "'") %}
    {% endfor %}
    {% if answer.form == 'folder' %}
        {% set notes = "select split_part(filename, '/', -1) as filename, content as text, "
            ~ "'" ~ answer.data_class ~ "' as data_class from read_text([" ~ patterns | join(', ') ~ '])' %}
    {% else %}
        {% set notes = "select json ->> 'filename' as filename, json ->> 'text' as text, "
            ~ "json ->> 'data_class' as data_class "
            ~ 'from read_json_objects(' ~ patterns[0] ~ ", format = 'newline_delimited', "
            ~ "compression = '" ~ ('gzip' if answer.form == 'lines.gz' else 'none') ~ "')" %}
    {% endif %}
    {{ return({
        'location': path, 'columns': ['filename', 'text', 'data_class'],
        'relation': '(' ~ notes ~ ') as notes'
    }) }}
{% endmacro %}


{#- A pattern that matches this one path, whatever is in its name. -#}
{% macro file_pattern(path) %}
    {{ return(modules.re.sub('([*?[])', '[\\1]', path)) }}
{% endmacro %}
