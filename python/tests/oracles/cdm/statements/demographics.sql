select patients.anchor_age, patients.gender
from admissions
inner join patients on admissions.subject_id = patients.subject_id
where admissions.hadm_id = ?
