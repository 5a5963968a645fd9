select title from discharge_diagnosis where hadm_id = ? and is_primary order by seq_num
