{#- The 17 variables of the benchmark: {column name: the name in the time series files}, in their order
    there. The spelling "Glascow" is the benchmark's. -#}
{% macro mimic3_variables() %}
    {{ return({
        'capillary_refill_rate': 'Capillary refill rate',
        'diastolic_blood_pressure': 'Diastolic blood pressure',
        'fraction_inspired_oxygen': 'Fraction inspired oxygen',
        'glascow_coma_scale_eye_opening': 'Glascow coma scale eye opening',
        'glascow_coma_scale_motor_response': 'Glascow coma scale motor response',
        'glascow_coma_scale_total': 'Glascow coma scale total',
        'glascow_coma_scale_verbal_response': 'Glascow coma scale verbal response',
        'glucose': 'Glucose',
        'heart_rate': 'Heart Rate',
        'height': 'Height',
        'mean_blood_pressure': 'Mean blood pressure',
        'oxygen_saturation': 'Oxygen saturation',
        'respiratory_rate': 'Respiratory rate',
        'systolic_blood_pressure': 'Systolic blood pressure',
        'temperature': 'Temperature',
        'weight': 'Weight',
        'ph': 'pH'
    }) }}
{% endmacro %}


{#- Those that are never cleaned: a value is the text as charted. -#}
{% macro mimic3_uncleaned_variables() %}
    {% set names = [
        'glascow_coma_scale_eye_opening',
        'glascow_coma_scale_motor_response',
        'glascow_coma_scale_total',
        'glascow_coma_scale_verbal_response',
        'heart_rate',
        'mean_blood_pressure',
        'respiratory_rate'
    ] %}
    {% set uncleaned = {} %}
    {% for name in names %}
        {% do uncleaned.update({name: mimic3_variables()[name]}) %}
    {% endfor %}
    {{ return(uncleaned) }}
{% endmacro %}


{#- The greatest number of each variable within a group of event values. -#}
{% macro greatest_numbers() -%}
    {%- for name, variable in mimic3_variables().items() -%}
    max(cleaned_number) filter (where variable = '{{ variable }}') as {{ name }}
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The rank of the greatest text of each uncleaned variable. -#}
{% macro greatest_text_ranks() -%}
    {%- for name, variable in mimic3_uncleaned_variables().items() -%}
    max(text_rank) filter (where variable = '{{ variable }}') as {{ name }}_rank
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The text of each rank. -#}
{% macro join_charted_texts() -%}
    {%- for name in mimic3_uncleaned_variables() -%}
    left join charted_texts as {{ name }}_texts
        on greatest.{{ name }}_rank = {{ name }}_texts.text_rank
    {%- if not loop.last %}
    {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Every variable as a number, and the uncleaned ones also as text. -#}
{% macro numbers_beside_texts() -%}
    {%- for name in mimic3_variables() -%}
    {%- if name in mimic3_uncleaned_variables() -%}
    {{ name }}_texts.charted_text as {{ name }}_text,
        case
            when greatest.{{ name }}_rank is null then greatest.{{ name }}
            else {{ name }}_texts.charted_number
        end as {{ name }}
    {%- else -%}
    greatest.{{ name }}
    {%- endif -%}
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- The columns of `int_mimic3__measurements` after its key: 17 numbers, then 7 texts. -#}
{% macro measurement_columns(relation) -%}
    {%- for name in mimic3_variables() -%}
    {{ relation }}.{{ name }},
        {% endfor -%}
    {%- for name in mimic3_uncleaned_variables() -%}
    {{ relation }}.{{ name }}_text
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- One column per phenotype, 1 to 25, from a pattern in which `#` stands for its id. -#}
{% macro phenotype_columns(pattern) -%}
    {%- for phenotype_id in range(1, 26) -%}
    {{ pattern | replace('#', phenotype_id | string) }}
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- Stops the build where a source table does not have the rows of its edition. -#}
{% macro wrong_row_count() -%}
    {%- set message -%}
        concat(
            upper(source_table),
            case
                when row_count < expected_row_count then ' looks truncated'
                else ' has too many rows'
            end,
            ': expected ', expected_row_count, ' rows for ', edition, ', found ', row_count,
            '; check the file against SHA256SUMS'
        )
    {%- endset -%}
    {{ stop_with(message, 'bigint') }}
{%- endmacro %}


{#- The benchmark's tolerance in hours at the edges of a window. -#}
{% macro mimic3_epsilon() -%}
    1e-6
{%- endmacro %}
