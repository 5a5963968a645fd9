{#- Marks in reports while their headings are sought. `radiology_plain_text` removes such characters
    first. -#}

{#- Stands before a heading; the letter of its part follows. -#}
{% macro heading_start() -%} chr(1) {%- endmacro %}


{#- Stands in place of the colon of a heading of findings. -#}
{% macro findings_start() -%} chr(2) {%- endmacro %}


{#- Stands before a sub-heading. -#}
{% macro sub_heading_start() -%} chr(3) {%- endmacro %}


{#- Stands between two reports. -#}
{% macro report_end() -%} chr(4) {%- endmacro %}


{#- A report whose white space is blanks and line feeds only, without the marks, and without
    characters of no width, which would hide a heading. -#}
{% macro radiology_plain_text(expression) -%}
    {%- set line_ends = [11, 12, 13, 28, 29, 30, 133, 8232, 8233] -%}
    {%- set blanks = white_space_code_points()
        | reject('in', line_ends) | reject('in', [10, 32]) | list -%}
    {%- set removed = [1, 2, 3, 4] + code_points_of_no_width() -%}
    case
        -- Most reports have printable characters only, and a translation of each is slow.
        when {{ expression }} !~ '[^ -~\n]' then {{ expression }}
        else
            translate(
                replace({{ expression }}, chr(13) || chr(10), chr(10)),
                {{ text_of_code_points(line_ends + blanks + removed) }},
                repeat(chr(10), {{ line_ends | length }}) || '{{ ' ' * blanks | length }}'
            )
    end
{%- endmacro %}


{#- A text with a mark and the letter of a part before whatever a pattern finds. The pattern has
    two groups: what stands before the heading, and the heading. -#}
{% macro marked_headings(text, pattern, part, behind="''") -%}
    regexp_replace(
        {{ text }},
        {{ pattern }},
        '\1' || {{ heading_start() }} || '{{ part }}' || '\2' || {{ behind }},
        'g'
    )
{%- endmacro %}


{#- The parts of patterns, for use in SQL texts. -#}

{#- A colon, or a sign that reads as one. -#}
{% macro colon() -%} [:{{ colons_beyond_ascii() }}] {%- endmacro %}


{#- A colon, or a dash in its place; no hyphen within a word. -#}
{% macro colon_or_dash() -%}
    (?:{{ colon() }}|--|[{{ "\u2012-\u2015" }}]|[ \n]-+[ \n])
{%- endmacro %}


{% macro plural() -%} (?:[Ss]|[(][Ss][)])? {%- endmacro %}


{#- Whatever may stand between the words of a heading and its colon: "(S)", "(PRELIM)", "#1", "**";
    no other heading. -#}
{% macro heading_tail() -%}
    {{ plural() }}[ \n]*(?:[(\[][^()\n' || {{ heading_start() }} || ']{0,60}[)\]])?[ \n0-9#.)*_]*
{%- endmacro %}


{#- The start of a line, with what decorates a heading. -#}
{% macro line_start() -%} \n[*#=~> -]* {%- endmacro %}


{#- The start of a sentence within a line, or of a column. -#}
{% macro sentence_start() -%} [.!?;)\]] *|  + {%- endmacro %}
