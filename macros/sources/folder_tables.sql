{#- The tables of a source in a folder or the folders of modules in it: `.csv.gz`, `.csv` or `.parquet`, any case. Returns
    {table name: [{location, columns, relation}, ...]}, the preferred form of a table first,
    relation being a SQL expression that reads the file. Optional tables may be absent from it. -#}
{% macro find_tables_in_folder(folder, modules, table_names, optional_names) %}
    {% set answer = fromjson(run_query(
        "select medeval_table_files('" ~ sql_text(folder) ~ "', '" ~ tojson(modules) ~ "', '"
        ~ tojson(table_names) ~ "', '" ~ tojson(optional_names) ~ "')"
    ).rows[0][0]) %}
    {% if 'problem' in answer %}
        {% do exceptions.raise_compiler_error(answer.problem) %}
    {% endif %}
    {% set found = {} %}
    {% for table_name, files in answer.files.items() %}
        {% set readers = [] %}
        {% for file in files %}
            {% do readers.append({
                'location': file.path, 'columns': file.columns, 'relation': file_relation(file)
            }) %}
        {% endfor %}
        {% do found.update({table_name: readers}) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- No sniffing: the sniffer takes a file for unquoted whose first quoted cell is past its sample.
    Quoted empty cells stay apart from nothing; staging treats both as missing. A folder called
    `a=b` is no column. A row with a note may be longer than the two million bytes that DuckDB allows. -#}
{% macro file_relation(file) %}
    {% if file.form == '.parquet' %}
        {% do return("read_parquet('" ~ sql_text(file.path) ~ "', hive_partitioning = false)") %}
    {% endif %}
    {% set types = [] %}
    {% for column in file.columns %}
        {% do types.append("'" ~ sql_text(column) ~ "': 'varchar'") %}
    {% endfor %}
    {{ return(
        "read_csv('" ~ sql_text(file.path) ~ "', auto_detect = false, header = true, columns = {"
        ~ types | join(', ') ~ "}, compression = '" ~ ('gzip' if file.form == '.csv.gz' else 'none')
        ~ "', delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        ~ "strict_mode = true, hive_partitioning = false"
        ~ (', max_line_size = 16777216' if 'text' in file.columns else '') ~ ")"
    ) }}
{% endmacro %}


{#- Several forms of one table: the first is read (compressed before plain before Parquet), and the
    others must have as many rows. Only a build pays for the count. -#}
{% macro check_forms_agree(table_name, readers) %}
    {% if readers | length == 1 or flags.WHICH not in ('build', 'run') %}
        {{ return('') }}
    {% endif %}
    {% set counts = [] %}
    {% set described = [] %}
    {% for reader in readers %}
        {% set rows = run_query('select count(*) from ' ~ reader.relation).rows[0][0] | int %}
        {% do counts.append(rows) %}
        {% do described.append(reader.location ~ ' (' ~ rows ~ ' rows)') %}
    {% endfor %}
    {% if counts | unique | list | length > 1 %}
        {% do exceptions.raise_compiler_error(
            'The table ' ~ table_name ~ ' is there in forms that differ: ' ~ described | join(', ')
            ~ '. Keep the one that is complete.'
        ) %}
    {% endif %}
    {% do log(
        'The table ' ~ table_name ~ ' is there in ' ~ readers | length ~ ' forms with '
        ~ counts[0] ~ ' rows each; ' ~ readers[0].location ~ ' is read.', info=true
    ) %}
{% endmacro %}
