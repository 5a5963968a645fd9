-- Each step cuts an exam from where something of the discharge begins, and to its end. The steps
-- search a lower-case shadow and shorten it; the exam itself is cut once, to what length is left.
-- "Discharge" in running text ("no discharge from the wound") stays.
with free_text as (
    select * from {{ ref('int_cdm__free_text') }}
),

trimmed_exams as {{ materialized() }} (
    select
        hadm_id,
        coalesce({{ trimmed('physical_examination') }}, '') as exam
    from free_text
),

shadowed_exams as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ ascii_lower(shadow('exam')) }} as shadow
    from trimmed_exams
),

-- Rule 1: "Physical Exam on discharge", "PE at time of discharge", "day of discharge". The words
-- for the exam go too where only white space is between.
without_exam_at_discharge as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from(
            '<((((physical|phsyical|physcial)~+)?exam(ination)?|pe|patient~+examined)~+)?'
            ~ '((on|upon|at|in)~+((day|time)~+of~+)?|day~+of~+)'
            ~ 'discharge>',
            'discharge'
        ) }} as shadow
    from shadowed_exams
),

-- Rule 2: "discharge vs".
without_discharge_signs as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('<discharge~+vs>', 'discharge') }} as shadow
    from without_exam_at_discharge
),

-- Rule 3: "discharge physical", and as it is misspelt ("phsycial").
without_discharge_physical as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('<discharge~+ph[sy]+[iyc]+a?l>', 'discharge') }} as shadow
    from without_discharge_signs
),

-- Rule 4: "Transfer Physical:", "ACS D/C Physical Exam Physical:", and "___ Physical:", where the
-- mask may hide such a word.
without_labelled_physical as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from(
            '(?:<(acs~+)?(discharge|transfer|d/c)~+'
            ~ '(physical~+exam~+)?'
            ~ '|___~*)physical~*:',
            'physical'
        ) }} as shadow
    from without_discharge_physical
),

-- Rule 5: "at discharge exam", with up to three signs of any kind in place of the "d".
without_garbled_discharge as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('<at~+.{0,3}ischarge~+exam>', 'ischarge') }} as shadow
    from without_labelled_physical
),

-- Rule 6: a line that begins with the word. Blank lines before it are part of the cut.
without_discharge_line as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('()(^|\\n)~*discharge>', 'discharge') }} as shadow
    from without_garbled_discharge
),

-- Rule 7: "--DISCHARGE--", in any case.
without_discharge_rule as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from('()--discharge--', '--discharge--') }} as shadow
    from without_discharge_line
),

-- Rule 8: DISCHARGE in capitals, wherever it stands. The case is that of the exam itself.
without_capital_discharge as {{ materialized() }} (
    select
        hadm_id,
        exam,
        case
            when position('DISCHARGE' in exam) = 0 then shadow
            else {{ without_end_space(
                "left(shadow, length(" ~ replace_first(
                    'left(exam, length(shadow))',
                    "'(?s)(^|[^" ~ word_characters() ~ "])DISCHARGE($|[^" ~ word_characters() ~ "]).*'",
                    "'\\1'"
                ) ~ "))"
            ) }}
        end as shadow
    from without_discharge_rule
),

-- Rule 9: "discharge:" and other headings. There is no boundary behind those without a colon, so
-- "discharge period" and "disposition" cut as well.
without_discharge_heading as {{ materialized() }} (
    select
        hadm_id,
        exam,
        {{ cut_from(
            '<(((prior|time~+of)~+)?discharge~*:|discharge~+(exam|pe|labs)'
            ~ '|on~+discharged~*:|(on~+)?d/c~*:|dispo)',
            'discharge', 'd/c', 'dispo'
        ) }} as shadow
    from without_capital_discharge
),

final as (
    select
        hadm_id,
        left(exam, length(shadow)) as exam
    from without_discharge_heading
)

select * from final
