{#- Marks in reports while their headings are sought. `radiology_plain_text` removes such characters
    first. -#}

{#- Stands before a heading; the letter of its part follows. -#}
{% macro heading_start() -%} {{ text_of_code_points([1]) }} {%- endmacro %}


{#- Stands in place of the colon of a heading of findings. -#}
{% macro findings_start() -%} {{ text_of_code_points([2]) }} {%- endmacro %}


{#- Stands before a sub-heading. -#}
{% macro sub_heading_start() -%} {{ text_of_code_points([3]) }} {%- endmacro %}


{#- A report whose white space is blanks and line feeds only, without the control
    characters that are marks, and without characters of no width, which would hide a heading. -#}
{% macro radiology_plain_text(expression) -%}
    {%- set line_ends = [11, 12, 13, 28, 29, 30, 133, 8232, 8233] -%}
    {%- set blanks = white_space_code_points()
        | reject('in', line_ends) | reject('in', [10, 32]) | list -%}
    {%- set removed = [1, 2, 3, 4] + code_points_of_no_width() -%}
    case
        -- Most reports have printable characters only, and a translation of each is slow.
        when not {{ matches(expression, "'[^ -~\\n]'") }} then {{ expression }}
        else
            translate(
                replace({{ expression }}, {{ text_of_code_points([13, 10]) }}, {{ line_feed() }}),
                {{ text_of_code_points(line_ends + blanks + removed) }},
                repeat({{ line_feed() }}, {{ line_ends | length }}) || '{{ ' ' * blanks | length }}'
            )
    end
{%- endmacro %}


{#- A text with a mark and the letter of a part before whatever the patterns find, one after
    another. A pattern has two groups: what stands before the heading, and the heading. -#}
{% macro marked_headings(text, patterns, part, behind="''") -%}
    {%- set replacement = "'\\1' || " ~ heading_start() ~ " || '" ~ part ~ "\\2' || " ~ behind -%}
    {%- set marked = namespace(text=text) -%}
    {%- for pattern in patterns -%}
        {%- set marked.text = replace_all(marked.text, pattern, replacement) -%}
    {%- endfor -%}
    {{ marked.text }}
{%- endmacro %}


{#- Words of headings as a pattern: `in capitals`, `capitalised` (the first letter in capitals, the
    others in any case), or `in any case`. Headings share the pattern of their beginning: PostgreSQL
    makes the machine of a pattern anew for each text, and it is as large as the pattern. -#}
{% macro heading_pattern(headings, form, is_beginning=true) -%}
    {%- set ways = [] -%}
    {%- for letter, same_beginning in headings | reject('equalto', '') | groupby(0, none, true) -%}
        {%- set ends = [] -%}
        {%- for heading in same_beginning -%}
            {%- do ends.append(heading | replace(letter, '', 1)) -%}
        {%- endfor -%}
        {%- set letter_pattern -%}
            {%- if letter == ' ' -%} [ \n]+
            {%- elif letter | lower == letter -%} [{{ letter }}]
            {%- elif form == 'in any case' or (form == 'capitalised' and not is_beginning) -%}
                [{{ letter }}{{ letter | lower }}]
            {%- else -%} {{ letter }}
            {%- endif -%}
        {%- endset -%}
        {%- do ways.append(letter_pattern ~ heading_pattern(ends, form, false)) -%}
    {%- endfor -%}
    {%- if ways | length == 1 and '' not in headings -%} {{ ways | first }}
    {%- elif ways -%} (?:{{ ways | join('|') }}){{ '?' if '' in headings }}
    {%- endif -%}
{%- endmacro %}
