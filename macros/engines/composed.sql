{#- A text whose letters and marks are composed, Unicode's form NFC. -#}
{% macro composed(expression) -%}
    {{ return(adapter.dispatch('composed', 'medeval')(expression)) }}
{%- endmacro %}


{% macro default__composed(expression) -%}
    nfc_normalize({{ expression }})
{%- endmacro %}


{% macro postgres__composed(expression) -%}
    normalize({{ expression }}, nfc)
{%- endmacro %}


{#- Spark has no function for it; the library of Unicode that comes with it has. -#}
{% macro spark__composed(expression) -%}
    case
        when bit_length({{ expression }}) = 8 * length({{ expression }}) then {{ expression }}
        when {{ expression }} is not null
            then reflect('com.ibm.icu.text.Normalizer', 'compose', {{ expression }}, false)
    end
{%- endmacro %}
