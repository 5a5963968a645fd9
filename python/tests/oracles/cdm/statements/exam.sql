select physical_examination from discharge_free_text where hadm_id = ?
