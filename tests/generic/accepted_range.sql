{#- The column lies between the bounds, both included unless said otherwise; missing values pass. -#}
{% test accepted_range(model, column_name, minimum=none, maximum=none, inclusive=true) %}

    select {{ column_name }}
    from {{ model }}
    where
        false
        {% if minimum is not none -%}
            or {{ column_name }} {{ '<' if inclusive else '<=' }} {{ minimum }}
        {% endif -%}
        {% if maximum is not none -%}
            or {{ column_name }} {{ '>' if inclusive else '>=' }} {{ maximum }}
        {% endif %}

{% endtest %}
