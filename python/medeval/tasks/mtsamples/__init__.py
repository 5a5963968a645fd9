"""MTSamples Procedures: treatment plans from the notes of procedures, compared with the notes."""
