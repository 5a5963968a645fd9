{#- The criteria of the published selection, in the order in which the attrition counts them. -#}
{% macro cdm_selection_conditions() %}
    {{ return([
        'has_history_heading',
        'has_history',
        'is_history_silent',
        'has_physical_exam',
        'has_lab_result',
        'has_abdominal_imaging',
        'is_primary_diagnosis',
        'is_first_diagnosis'
    ]) }}
{% endmacro %}
