{#- The seven sub-windows of the baseline features, in their order: {prefix of the columns: is an
    observation in it?}. They part the time from a variable's first to its last observation
    (`first_hours`, `last_hours` of the relation), not the whole window. -#}
{% macro mimic3_sub_windows(hours, relation) %}
    {% set span = '(' ~ relation ~ '.last_hours - ' ~ relation ~ '.first_hours)' %}
    {% set sub_windows = {'all': hours ~ ' <= ' ~ relation ~ '.last_hours'} %}
    {% for percent in (10, 25, 50) %}
        {% do sub_windows.update({
            'first_' ~ percent: hours ~ ' < ' ~ relation ~ '.first_hours + '
                ~ span ~ ' * ' ~ percent ~ ' / 100.0 + ' ~ mimic3_epsilon()
        }) %}
    {% endfor %}
    {% for percent in (10, 25, 50) %}
        {% do sub_windows.update({
            'last_' ~ percent: hours ~ ' > ' ~ relation ~ '.last_hours - '
                ~ span ~ ' * ' ~ percent ~ ' / 100.0 - ' ~ mimic3_epsilon()
        }) %}
    {% endfor %}
    {{ return(sub_windows) }}
{% endmacro %}


{#- Columns that tell for each sub-window whether an observation is in it. -#}
{% macro sub_window_memberships(hours, relation) -%}
    {%- for name, condition in mimic3_sub_windows(hours, relation).items() -%}
    {{ condition }} as is_in_{{ name }}
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}


{#- A list of columns, the pattern once for each sub-window; `#` stands for its name. -#}
{% macro for_each_sub_window(pattern) -%}
    {%- for name in mimic3_sub_windows('', '') -%}
    {{ pattern | replace('#', name) }}
    {%- if not loop.last %},
        {% endif -%}
    {%- endfor -%}
{%- endmacro %}
