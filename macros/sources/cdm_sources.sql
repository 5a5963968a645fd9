{#- The user's list of admissions as rows, numbered as the lines that are not blank. The statement
    names the file and holds no id, since statements stand in the log. -#}
{% macro cohort_list_query(path) %}
    {% set problem = run_query(
        "select medeval_cohort_problem('" ~ sql_text(path) ~ "')"
    ).rows[0][0] %}
    {% if problem %}
        {% do exceptions.raise_compiler_error(problem) %}
    {% endif %}
    {{ return(
        'with lines as (select line, line_number from (select content from read_text('
        ~ "'" ~ sql_text(file_pattern(path)) ~ "')) as file, "
        ~ "unnest(regexp_split_to_array(file.content, '\\r\\n|\\r|\\n')) with ordinality "
        ~ 'as split (line, line_number)), '
        ~ "ids as (select trim(line, concat(' ', chr(9), chr(65279))) as hadm_id, line_number from lines) "
        ~ 'select cast(row_number() over (order by line_number) as varchar) as list_position, '
        ~ "hadm_id from ids where hadm_id <> ''"
    ) }}
{% endmacro %}


{#- Tables that only some ways of building the CDM cases need, and that this build lacks. -#}
{% macro check_absent_tables(read, absent) %}
    {#- Choices that do not exist are named before anything is built. -#}
    {% do cdm_rules() %}
    {% do cdm_extract_choice() %}
    {% set extract_tables = ['discharge_free_text', 'discharge_diagnosis', 'procedures'] %}
    {% set absent_extracts = extract_tables | select('in', absent) | list %}
    {% set list_is_given = var('cdm_cohort_file') != '' %}
    {% set problem = none %}
    {% if 'cohort_list' in absent and list_is_given %}
        {% set problem = 'cdm_cohort_file is set, but the database holds no list. Load it:'
            ~ ' `python -m medeval load mimic4 --cohort-file FILE`.' %}
    {% elif not list_is_given and flags.WHICH != 'test' and 'cohort_list' in read
        and 'cohort_list' not in absent %}
        {#- Neither used nor passed over in silence. -#}
        {% set table = graph.sources.values() | selectattr('name', 'eq', 'cohort_list') | first %}
        {% set count = run_query('select count(*) from ' ~ table_relation(table)).rows[0][0] %}
        {% set problem = 'A list of ' ~ count ~ ' admissions is loaded (' ~ table.schema
            ~ '.cohort_list) and not named. Name it to build its cases:'
            ~ " --vars '{cdm_cohort_file: FILE}'. For the published selection rule empty it:"
            ~ ' `truncate table ' ~ table.schema ~ '.cohort_list`.' %}
    {% elif 'diagnoses_icd' in absent or 'd_icd_diagnoses' in absent %}
        {% if not list_is_given %}
            {% set problem = 'Without a list of admissions (cdm_cohort_file) the selection rule reads'
                ~ ' diagnoses_icd and d_icd_diagnoses, and they are not there.' %}
        {% endif %}
    {% elif absent_extracts and cdm_extract_choice() == 'provided' %}
        {% set problem = 'cdm_extract_source is provided, but there is no '
            ~ absent_extracts | join(', no ') ~ '. Name their folder in MEDEVAL_CDM_EXTRACT_DIR.' %}
    {% endif %}
    {% if problem is none and 'discharge' in absent %}
        {% if absent_extracts or not list_is_given or cdm_extract_choice() == 'derived' %}
            {% set problem = 'The discharge notes (table discharge) are not there. Only a list of'
                ~ ' admissions (cdm_cohort_file) together with extracts of the notes'
                ~ ' (MEDEVAL_CDM_EXTRACT_DIR) can do without them.' %}
        {% endif %}
    {% endif %}
    {% if problem is not none %}
        {% do exceptions.raise_compiler_error(problem) %}
    {% endif %}
{% endmacro %}


{#- Where the sections of discharge notes come from. -#}
{% macro cdm_extract_choice() %}
    {% set source_choice = var('cdm_extract_source') %}
    {% if source_choice not in ('auto', 'provided', 'derived') %}
        {% do exceptions.raise_compiler_error(
            "The variable cdm_extract_source is '" ~ source_choice
            ~ "'. It can be auto, provided or derived."
        ) %}
    {% endif %}
    {{ return(source_choice) }}
{% endmacro %}
