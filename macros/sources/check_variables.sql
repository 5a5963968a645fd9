{#- Before any statement: variables of the project that become names or stand in SQL text are what they can
    be. A path is anything, and goes into a text literal (`sql_text`); what else is a variable is a word. -#}
{% macro check_variables() %}
    {% for name in (
        'mimic3_schema', 'mimic4_hosp_schema', 'mimic4_note_schema', 'cdm_extract_schema',
        'yier_schema', 'mtsamples_schema'
    ) %}
        {% do checked_name(var(name), 'the variable ' ~ name) %}
    {% endfor %}
    {% for name in (
        'mimic3_check_row_counts', 'mimic3_training_hours', 'mimic3_training_seed',
        'mtsamples_truncation', 'cdm_rules', 'cdm_extract_source', 'pelvis_as_abdomen', 'double_type'
    ) if not modules.re.fullmatch('[A-Za-z0-9_ ]+', var(name) | string) %}
        {% do exceptions.raise_compiler_error(
            'The variable ' ~ name ~ ' is ' ~ tojson(var(name) | string)
            ~ ': it can have letters, digits and underscores.'
        ) %}
    {% endfor %}
    {{ return('') }}
{% endmacro %}


{#- A name of a schema that may stand between quotes and in a text literal; else the build stops. -#}
{% macro checked_name(name, what) %}
    {% if not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_$-]*', name | string) %}
        {% do exceptions.raise_compiler_error(
            'A schema cannot be called ' ~ tojson(name | string) ~ ' (' ~ what ~ '): a name has'
            ~ ' letters, digits, underscores and hyphens, and begins with a letter or underscore.'
        ) %}
    {% endif %}
    {{ return(name) }}
{% endmacro %}
