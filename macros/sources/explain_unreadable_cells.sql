{#- After a failed build: where a cell could not be read, say in which row of the table (or of the
    file) it stands. Only a failure pays for the search. -#}
{% macro explain_unreadable_cells(results) %}
    {% if not execute %}
        {{ return('') }}
    {% endif %}
    {% set explained = [] %}
    {% for result in results if result.status == 'error' and result.message %}
        {% set match = modules.re.search(
            'cannot read (\w+)[.](\w+)[.](\w+): (.*?) is not a', result.message
        ) %}
        {% if match %}
            {% set cell = match.groups() %}
            {% if cell not in explained %}
                {% do explained.append(cell) %}
                {% do adapter.dispatch('explain_unreadable_cell', 'medeval')(*cell) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}


{#- `shown` is the cell as the message shows it, in single quotes. The rows of a scan are numbered in
    their order in the file only on one thread that keeps the order. -#}
{% macro default__explain_unreadable_cell(source_name, table_name, column, shown) %}
    {% set table = graph.sources['source.medeval.' ~ source_name ~ '.' ~ table_name] %}
    {% set place = source_place(table.config.meta) %}
    {% if place.kind == 'database' %}
        {% set location = place.location %}
    {% else %}
        {% set location = find_table_in_folder(place, table_name).location %}
    {% endif %}
    {% set threads = run_query("select current_setting('threads')").rows[0][0] %}
    {% do run_query('set preserve_insertion_order = true') %}
    {% do run_query('set threads = 1') %}
    {% set rows = run_query(
        'with numbered as (select row_number() over () as row_number, ' ~ column ~ ' as cell from '
        ~ table_relation(table) ~ ') select row_number from numbered where cell = ' ~ shown ~ ' limit 1'
    ).rows %}
    {% do run_query('set threads = ' ~ threads) %}
    {% do run_query('set preserve_insertion_order = false') %}
    {% do log_unreadable_cell(location, rows, column, shown) %}
{% endmacro %}


{% macro postgres__explain_unreadable_cell(source_name, table_name, column, shown) %}
    {% set table = graph.sources['source.medeval.' ~ source_name ~ '.' ~ table_name] %}
    {% set rows = run_query(
        'select row_number from (select row_number() over () as row_number, cast(' ~ column
        ~ ' as text) as cell from ' ~ table_relation(table) ~ ') as numbered where cell = ' ~ shown ~ ' limit 1'
    ).rows %}
    {% do log_unreadable_cell(table.schema ~ '.' ~ table_name, rows, column, shown) %}
{% endmacro %}


{% macro log_unreadable_cell(location, rows, column, shown) %}
    {% do log(
        location ~ ', row ' ~ (rows[0][0] if rows else '?') ~ ' (the header not counted), column '
        ~ column ~ ': ' ~ shown ~ ' cannot be read. Mend the cell, or download the file again.',
        info=true
    ) %}
{% endmacro %}
