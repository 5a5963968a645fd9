"""The tools as an OpenAI-compatible endpoint is told of them."""

from __future__ import annotations

from typing import Any

PHYSICAL_EXAMINATION = "physical_examination"
REQUEST_LAB_TEST = "request_lab_test"
REQUEST_IMAGING = "request_imaging"
RETRIEVE_CRITERIA = "retrieve_diagnosis_criteria"
TOOLS = (PHYSICAL_EXAMINATION, REQUEST_LAB_TEST, REQUEST_IMAGING, RETRIEVE_CRITERIA)

# The arguments of each tool, all of them texts that must be there.
ARGUMENTS: dict[str, dict[str, str]] = {
    PHYSICAL_EXAMINATION: {},
    REQUEST_LAB_TEST: {
        "test_name": "The tests, panels or cultures, set apart by commas, for example"
        " 'CBC, lipase, blood culture'."
    },
    REQUEST_IMAGING: {
        "region": "The region of the body, for example 'Abdomen' or 'Chest'.",
        "modality": "The modality, for example 'CT', 'Ultrasound', 'MRI' or 'Radiograph'.",
    },
    RETRIEVE_CRITERIA: {"condition": "The name of the condition."},
}
DESCRIPTIONS = {
    PHYSICAL_EXAMINATION: "Examine the patient and return the findings.",
    REQUEST_LAB_TEST: "Return the patient's results of laboratory tests and cultures, with the"
    " ranges of reference.",
    REQUEST_IMAGING: "Return the report of one examination of a region by a modality. Asking again"
    " returns the next report, if there is one.",
    RETRIEVE_CRITERIA: "Return the criteria of a guideline by which a condition is diagnosed.",
}


def definition(tool: str) -> dict[str, Any]:
    """Return the definition of a tool."""
    arguments = ARGUMENTS[tool]
    return {
        "type": "function",
        "function": {
            "name": tool,
            "description": DESCRIPTIONS[tool],
            "parameters": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "description": meaning}
                    for name, meaning in arguments.items()
                },
                "required": list(arguments),
                "additionalProperties": False,
            },
        },
    }
