{#- After a failed build: say in a sentence of its own where the raw data are at fault, and what to
    do. For a cell that staging could not read, that is its row; only a failure pays for the
    search. -#}
{% macro explain_unreadable_cells(results) %}
    {% if not execute %}
        {{ return('') }}
    {% endif %}
    {% set explained = [] %}
    {% for result in results if result.status == 'error' and result.message %}
        {% set cell = modules.re.search(
            "(?s)cannot read (\w+)[.](\w+)[.](\w+): '.*' is not (a whole number|a number|a time|true or false)",
            result.message
        ) %}
        {% set fault = cell.groups() if cell else damaged_file(result.message) %}
        {% if fault and fault not in explained %}
            {% do explained.append(fault) %}
            {% if cell %}
                {% do adapter.dispatch('explain_unreadable_cell', 'medeval')(*fault) %}
            {% else %}
                {% do log(fault, info=true) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}


{#- What DuckDB says of a file that it cannot read to its end, as a sentence; none for other
    messages. DuckDB's own advice is to skip rows, which nothing here does. -#}
{% macro damaged_file(message) %}
    {% set stream = modules.re.search('(?:GZIP stream|gzip stream)[^:\n]*: (.+)', message) %}
    {% if stream %}
        {% do return(
            stream.group(1).strip() ~ ' looks truncated or damaged: it is no whole gzip file. Check'
            ~ ' the file against SHA256SUMS and download it again.'
        ) %}
    {% endif %}
    {% set line = modules.re.search('CSV Error on Line: (\d+)', message) %}
    {% set file = modules.re.search('file = (.+)', message) %}
    {% set counts = modules.re.search('Expected Number of Columns: (\d+) Found: (\d+)', message) %}
    {% if line and file %}
        {% do return(
            file.group(1).strip() ~ ', line ' ~ line.group(1) ~ ': '
            ~ ('the header has ' ~ counts.group(1) ~ ' cells and this line ' ~ counts.group(2)
                if counts else 'DuckDB cannot read this as CSV in UTF-8')
            ~ '. No row is ever skipped. Check the file against SHA256SUMS and download it again,'
            ~ ' or mend the line.'
        ) %}
    {% endif %}
    {{ return(none) }}
{% endmacro %}


{#- The rows of a scan are numbered in their order in the file only on one thread that keeps the
    order. -#}
{% macro default__explain_unreadable_cell(source_name, table_name, column, expected) %}
    {% set table = graph.sources['source.' ~ project_name ~ '.' ~ source_name ~ '.' ~ table_name] %}
    {% set place = source_place(table.config.meta) %}
    {% set source_table = find_tables(source_name, place, [table])[table_name] %}
    {% set threads = run_query("select current_setting('threads')").rows[0][0] %}
    {% do run_query('set preserve_insertion_order = true') %}
    {% do run_query('set threads = 1') %}
    {% do log_unreadable_cell(source_table.location, table_relation(table), column, expected) %}
    {% do run_query('set threads = ' ~ threads) %}
    {% do run_query('set preserve_insertion_order = false') %}
{% endmacro %}


{% macro postgres__explain_unreadable_cell(source_name, table_name, column, expected) %}
    {% set table = graph.sources['source.' ~ project_name ~ '.' ~ source_name ~ '.' ~ table_name] %}
    {% do log_unreadable_cell(
        table.schema ~ '.' ~ table_name, table_relation(table), column, expected
    ) %}
{% endmacro %}


{% macro log_unreadable_cell(location, relation, column, expected) %}
    {% set readable = {
        'a whole number': is_whole_number, 'a number': is_number, 'a time': is_time,
        'true or false': is_truth_value
    }[expected]('cell') %}
    {% set rows = run_query(
        'select row_number, left(cell, 40) from (select row_number() over () as row_number, '
        ~ raw_text(column) ~ ' as cell from ' ~ relation ~ ') as numbered where cell not in '
        ~ missing_texts() ~ ' and not (' ~ readable ~ ') limit 1'
    ).rows %}
    {% if rows %}
        {% do log(
            location ~ ', row ' ~ rows[0][0] ~ ' (the header not counted), column ' ~ column ~ ": '"
            ~ rows[0][1] ~ "' cannot be read. Mend the cell, or check the file against SHA256SUMS"
            ~ ' and download it again.', info=true
        ) %}
    {% endif %}
{% endmacro %}
