with notes as (
    select * from {{ ref('int_cdm__radiology_notes') }}
),

exam_names as (
    select * from {{ ref('int_cdm__radiology_exam_names') }}
),

keywords as (
    select * from {{ ref('int_cdm__radiology_keywords') }}
),

-- A note of two admissions is one text.
named_notes as (
    select distinct
        notes.note_id,
        exam_names.modality,
        exam_names.region
    from notes
    inner join exam_names on notes.exam_name = exam_names.exam_name
),

-- What the name does not tell, the reference takes from the whole report, its indication and
-- impression too. "US" in running text then makes an ultrasound, so the specification does not.
gaps as (
    select
        note_id,
        modality is null as lacks_modality,
        region is null as lacks_region
    from named_notes
    where
        (modality is null or region is null)
        and {{ 'true' if var('cdm_rules') == 'reference' else 'false' }}
),

gap_texts as (
    select
        gaps.note_id,
        min({{ text_order('notes.text') }}) as report
    from notes
    inner join gaps on notes.note_id = gaps.note_id
    group by gaps.note_id
),

shadows as (
    select
        note_id,
        {{ shadow('report') }} as report_shadow
    from gap_texts
),

searchable_reports as {{ materialized() }} (
    select
        note_id,
        {{ searchable('report_shadow') }} as searchable_report
    from shadows
),

found as (
    select
        gaps.note_id,
        keywords.kind,
        keywords.category,
        row_number() over (
            partition by gaps.note_id, keywords.kind
            order by keywords.category_order, {{ text_order('keywords.keyword') }}
        ) as place
    from searchable_reports
    inner join gaps on searchable_reports.note_id = gaps.note_id
    inner join keywords
        on
            (
                (gaps.lacks_modality and keywords.kind = 'modality')
                or (gaps.lacks_region and keywords.kind = 'region')
            )
            and position(keywords.searched_keyword in searchable_reports.searchable_report) > 0
),

final as (
    select
        named_notes.note_id,
        coalesce(named_notes.modality, modalities.category) as modality,
        coalesce(named_notes.region, regions.category) as region
    from named_notes
    left join found as modalities
        on
            named_notes.note_id = modalities.note_id
            and modalities.kind = 'modality'
            and modalities.place = 1
    left join found as regions
        on
            named_notes.note_id = regions.note_id
            and regions.kind = 'region'
            and regions.place = 1
)

select * from final
