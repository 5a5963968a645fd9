{#- Find the file of a table in a folder: `.csv.gz`, `.csv` or `.parquet`, any case. Returns
    {location, columns, relation}, relation being a SQL expression that reads the file. -#}
{% macro find_table_in_folder(place, table_name) %}
    {% set candidates = {} %}
    {% set files = run_query(
        "select file from glob('" ~ sql_text(place.location) ~ "/*') order by file"
    ) %}
    {% for row in files.rows %}
        {% set file_name = row[0].replace('\\', '/').split('/')[-1] | lower %}
        {% for ending in ('.csv.gz', '.csv', '.parquet') if file_name == table_name ~ ending %}
            {% do candidates.setdefault(ending, []).append(row[0]) %}
        {% endfor %}
    {% endfor %}
    {% if not candidates %}
        {% do exceptions.raise_compiler_error(
            'The table ' ~ table_name ~ ' is needed and is not in ' ~ place.location
            ~ ': no file ' ~ table_name ~ '.csv.gz, ' ~ table_name ~ '.csv or ' ~ table_name
            ~ '.parquet (any case).'
        ) %}
    {% endif %}
    {% set readers = [] %}
    {% for ending in ('.csv.gz', '.csv', '.parquet') %}
        {% for path in candidates.get(ending, []) %}
            {% do readers.append(file_reader(path, ending)) %}
        {% endfor %}
    {% endfor %}
    {% if readers | length > 1 %}
        {% do check_forms_agree(table_name, readers) %}
    {% endif %}
    {{ return(readers[0]) }}
{% endmacro %}


{% macro file_reader(path, ending) %}
    {% if path | select('in', '*?[') | list %}
        {% do exceptions.raise_compiler_error(
            'The path ' ~ path ~ ' has one of the characters * ? [ in it, which DuckDB reads as a'
            ~ ' pattern. Rename the folder or the file.'
        ) %}
    {% endif %}
    {% if ending == '.parquet' %}
        {% set relation = "read_parquet('" ~ sql_text(path) ~ "')" %}
        {% set rows = run_query('describe select * from ' ~ relation).rows %}
        {% do return({
            'location': path, 'columns': rows | map(attribute=0) | list, 'relation': relation
        }) %}
    {% endif %}
    {% set compression = 'gzip' if ending == '.csv.gz' else 'none' %}
    {% set columns = csv_header(path, compression) %}
    {% if compression == 'none' %}
        {% set complete = run_query(
            "select medeval_ends_with_newline('" ~ sql_text(path) ~ "')"
        ).rows[0][0] %}
        {% if not complete %}
            {% do exceptions.raise_compiler_error(
                path ~ ' looks truncated: its last line is incomplete (no line end). Check the file'
                ~ ' against SHA256SUMS and download it again.'
            ) %}
        {% endif %}
    {% endif %}
    {% set types = [] %}
    {% for column in columns %}
        {% do types.append("'" ~ sql_text(column) ~ "': 'varchar'") %}
    {% endfor %}
    {#- No sniffing: the sniffer takes a file for unquoted whose first quoted cell is past its sample.
        Quoted empty cells stay apart from nothing; staging treats both as missing. -#}
    {% do return({
        'location': path,
        'columns': columns,
        'relation': "read_csv('" ~ sql_text(path) ~ "', auto_detect = false, header = true, "
            ~ "columns = {" ~ types | join(', ') ~ "}, compression = '" ~ compression ~ "', "
            ~ "delim = ',', quote = '\"', escape = '\"', nullstr = '', "
            ~ "allow_quoted_nulls = false, strict_mode = true)"
    }) %}
{% endmacro %}


{#- The header cells of a CSV file, as written. A parallel scan would give any line first. -#}
{% macro csv_header(path, compression) %}
    {% set rows = run_query(
        "select line from read_csv('" ~ sql_text(path) ~ "', auto_detect = false, header = false, "
        ~ "columns = {'line': 'varchar'}, compression = '" ~ compression ~ "', "
        ~ "delim = '\x1f', quote = '', escape = '', nullstr = '\x1e', strict_mode = false, "
        ~ "parallel = false, max_line_size = 65536, buffer_size = 131072) limit 1"
    ).rows %}
    {% if not rows %}
        {% do exceptions.raise_compiler_error(path ~ ' is empty: it has no header line.') %}
    {% endif %}
    {% set names = [] %}
    {% for cell in rows[0][0].lstrip('﻿').rstrip('\r').split(',') %}
        {% do names.append(cell.strip().strip('"')) %}
    {% endfor %}
    {{ return(names) }}
{% endmacro %}


{#- Several forms of one table: the first is read (compressed before plain before Parquet), and the
    others must have as many rows. -#}
{% macro check_forms_agree(table_name, readers) %}
    {% set counts = [] %}
    {% for reader in readers %}
        {% do counts.append(
            run_query('select count(*) from ' ~ reader.relation).rows[0][0] | int
        ) %}
    {% endfor %}
    {% if counts | unique | list | length > 1 %}
        {% set described = [] %}
        {% for reader in readers %}
            {% do described.append(reader.location ~ ' (' ~ counts[loop.index0] ~ ' rows)') %}
        {% endfor %}
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
