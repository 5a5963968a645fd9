{#- After a failed build: say in a sentence of its own which row holds a cell that staging could not
    read, and what to do. Only a failure pays for the search. -#}
{% macro explain_unreadable_cells(results) %}
    {% if not execute %}
        {{ return('') }}
    {% endif %}
    {% set explained = [] %}
    {% for result in results if result.status == 'error' and result.message %}
        {% set found = modules.re.search(
            "cannot read (\w+)[.](\w+)[.](\w+) as (a whole number|a number|a time|true or false)",
            result.message
        ) %}
        {% if found and found.groups() not in explained %}
            {% do explained.append(found.groups()) %}
            {% do adapter.dispatch('explain_unreadable_cell', 'medeval')(*found.groups()) %}
        {% endif %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}


{#- The rows of a scan are numbered in their order in the file only on one thread that keeps the
    order. -#}
{% macro default__explain_unreadable_cell(source_name, table_name, column, expected) %}
    {% set table = graph.sources['source.medeval.' ~ source_name ~ '.' ~ table_name] %}
    {% set location = source_views([table]).locations[table_name] %}
    {% set threads = run_query("select current_setting('threads')").rows[0][0] %}
    {% do run_query('set preserve_insertion_order = true') %}
    {% do run_query('set threads = 1') %}
    {% do log_unreadable_cell(source_name, location, table_relation(table), column, expected) %}
    {% do run_query('set threads = ' ~ threads) %}
    {% do run_query('set preserve_insertion_order = false') %}
{% endmacro %}


{% macro postgres__explain_unreadable_cell(source_name, table_name, column, expected) %}
    {% set table = graph.sources['source.medeval.' ~ source_name ~ '.' ~ table_name] %}
    {% do log_unreadable_cell(
        source_name, table.schema ~ '.' ~ table_name, table_relation(table), column, expected
    ) %}
{% endmacro %}


{% macro spark__explain_unreadable_cell(source_name, table_name, column, expected) %}
    {% do medeval.postgres__explain_unreadable_cell(source_name, table_name, column, expected) %}
{% endmacro %}


{#- Of the cell only digits and signs are shown: where a row has shifted, it may be a piece of a
    note. -#}
{% macro log_unreadable_cell(source_name, location, relation, column, expected) %}
    {% set readable = {
        'a whole number': is_whole_number, 'a number': is_number, 'a time': is_time,
        'true or false': is_truth_value
    }[expected]('cell') %}
    {% set rows = run_query(
        "select row_number, regexp_replace(left(cell, 40), '[^0-9 .,:;/+-]', 'x', 'g') from ("
        ~ 'select ' ~ number_of_scan() ~ ' as row_number, '
        ~ raw_text(column) ~ ' as cell from ' ~ relation ~ ') as numbered where cell not in '
        ~ missing_texts(source_name) ~ ' and not (' ~ readable ~ ') limit 1'
    ).rows %}
    {% if rows %}
        {% do log(
            location ~ ', row ' ~ rows[0][0] ~ ' (the header not counted), column ' ~ column ~ ": '"
            ~ rows[0][1] ~ "' cannot be read. Mend the cell, or check the file against SHA256SUMS"
            ~ ' and download it again.', info=true
        ) %}
    {% endif %}
{% endmacro %}


{#- The number of a row in the order in which it is read. -#}
{% macro number_of_scan() -%}
    {{ return(adapter.dispatch('number_of_scan', 'medeval')()) }}
{%- endmacro %}


{% macro default__number_of_scan() -%}
    row_number() over ()
{%- endmacro %}


{#- Of the first file, where a table is in several. -#}
{% macro spark__number_of_scan() -%}
    monotonically_increasing_id() + 1
{%- endmacro %}
