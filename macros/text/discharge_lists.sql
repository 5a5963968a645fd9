{#- The lists of a discharge note are read in a shadow of each line: lower case, ASCII, same
    length. -#}

{#- Bullets and dashes beyond ASCII as `-`, so that the shadow does not blend them with other
    signs. -#}
{% macro with_plain_bullets(expression) -%}
    {%- set bullets = [183, 8211, 8212, 8226, 8729, 9642, 9679, 9702, 61623] -%}
    translate({{ expression }}, {{ text_of_code_points(bullets) }}, '{{ '-' * bullets | length }}')
{%- endmacro %}


{#- A shadow without the number, letter or bullet that may begin the line of a list. A number is
    one only if no digit follows: `1.5 cm` stays, and so does the letter of `E. coli`. -#}
{% macro without_list_mark(shadow_text) -%}
    {%- set mark -%}
        '^ *(#[0-9]{1,2}[.):]?|[(]?[0-9]{1,2}[.)]|[(]?[a-z][)]|[-*#]+)([^0-9]|$)'
    {%- endset -%}
    trim(leading ' ' from {{ replace_first(shadow_text, mark, "'\\2'") }})
{%- endmacro %}


{#- Does a text name anything? Signs, digits and the marks of de-identification alone do not. -#}
{% macro names_something(expression) -%}
    {{ matches(
        "translate(" ~ expression ~ ", '_0123456789', '')", "'[" ~ word_characters() ~ "]'"
    ) }}
{%- endmacro %}
