select history_of_present_illness, past_medical_history
from discharge_free_text
where hadm_id = ?
