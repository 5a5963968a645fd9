select titles.long_title, trim(done.icd_code)
from procedures_icd as done
inner join d_icd_procedures as titles
    on trim(done.icd_code) = trim(titles.icd_code) and done.icd_version = titles.icd_version
where done.hadm_id = ?
order by done.seq_num, done.icd_version, done.icd_code collate "C"
