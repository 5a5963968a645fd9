"""Invented phrases that reports and notes are put together from, by condition.

The places of a tuple are the conditions of `mimic4_cases.CONDITIONS`.
"""

from __future__ import annotations

COMPLAINTS = (
    "Right lower abdominal pain",
    "Right upper quadrant pain",
    "Left lower abdominal pain",
    "Epigastric pain",
    "Diarrhea and cramps",
    "Flank pain",
    "Vomiting and distension",
    "Pelvic pain",
    "Fever and dysuria",
)
PAINS = (
    "pain that began around the navel and settled in the right lower quadrant",
    "steady pain under the right ribs that came on after a heavy supper",
    "a dull ache low on the left side that worsens with walking",
    "boring pain in the pit of the stomach that goes through to the back",
    "loose stools many times a day with cramping all over the belly",
    "waves of pain in the flank that run toward the groin",
    "a swollen belly, hiccups and no stool since the day before",
    "a sudden stabbing pain deep in the pelvis",
    "burning on passing water followed by chills",
)
ASSOCIATED = (
    "nausea without vomiting",
    "two bouts of vomiting",
    "loss of appetite",
    "chills at night",
    "a temperature of ___ taken at home",
    "bloating",
    "a single loose stool",
)
DENIALS = ("chest pain", "dyspnea", "dysuria", "melena", "recent travel", "sick contacts", "rash")
ED_COURSES = (
    "In the emergency room, ___ was given fluids and something for pain, and the surgeons saw "
    "___ there.",
    "On arrival the vital signs were steady; imaging was obtained and ___ was kept fasting.",
    "At ___, blood was drawn, a liter of saline was run in and ___ was sent here.",
    'The pain was called "the worst ever"; a CT was done, and ___ was admitted for "observation".',
)
PAST = (
    "Hypertension",
    "Hyperlipidemia",
    "Type 2 diabetes, on tablets",
    "Reflux",
    "Asthma in childhood",
    "Migraine",
    "Hypothyroidism",
    "Inguinal hernia repair in ___",
    "C-section x 2",
    "Tonsillectomy as a child",
    "Knee replacement, left, ___",
    "Anxiety",
)
SOCIAL = (
    "Lives with ___. Works as a ___. No tobacco, wine on weekends.",
    "___",
    "Retired. Quit smoking ___ years ago. Denies drugs.",
)
FAMILY = (
    "Father with heart disease, mother well.",
    "No bowel disease among relatives.",
    "Non-contributory.",
    "___",
)
ABDOMENS = (
    "soft, tender at the right lower quadrant with guarding, no mass felt",
    "soft, tender below the right ribs on deep breath in, not distended",
    "soft, tender on the lower left, no rebound",
    "full in the upper half, tender in the epigastrium, bowel sounds few",
    "soft, mildly tender throughout",
    "soft, no tenderness; knocking on the flank hurts",
    "distended, drum-like, high-pitched sounds",
    "soft, tender just above the pubis on one side",
    "soft, suprapubic discomfort only",
)
GOOD_ABDOMENS = ("soft, flat, incisions dry", "soft, barely tender", "soft, no tenderness")
COURSES = (
    "Imaging showed a thickened appendix. After consent was given the patient went to the "
    "operating room for an appendectomy, which went as planned. The diet was advanced on the "
    "first day and antibiotics were stopped.",
    "The ultrasound showed stones and a thick gallbladder wall. Antibiotics were begun and the "
    "gallbladder was taken out through small ports. Pain was managed with tablets.",
    "The patient was kept on bowel rest with intravenous antibiotics. The white count came down "
    "and clear liquids were tolerated. A colonoscopy is advised in six to eight weeks.",
    "The patient was treated with fluids, pain control and fasting. The lipase fell by half and "
    "a low-fat diet was tolerated. Monitoring in a step-down bed was not needed.",
    "Stool studies were sent. With fluids the cramps settled.",
    "A stone was seen on the way to the bladder. Pain was managed and it was passed.",
    "A tube was placed through the nose and the bowels opened on the third day.",
    "The cyst was followed by ultrasound and the pain went away on its own.",
    "Antibiotics were changed after the culture and the fever went down.",
)
DIAGNOSES = (
    ("Acute appendicitis", "Acute perforated appendicitis", "Acute gangrenous appendicitis"),
    ("Acute cholecystitis", "Acute calculous cholecystitis", "acute on chronic cholecystitis"),
    ("Sigmoid diverticulitis", "Acute diverticulitis", "Diverticulitis with small abscess"),
    ("Acute pancreatitis", "Biliary pancreatitis", "Acute alcoholic pancreatitis"),
    ("Gastroenteritis",),
    ("Ureteral stone",),
    ("Small bowel obstruction",),
    ("Ovarian cyst",),
    ("Urinary tract infection",),
)
SECOND_DIAGNOSES = ("Hypertension", "Diabetes", "Hypokalemia", "Anemia", "Tobacco use", "Reflux")
PROCEDURES = (
    ("Laparoscopic appendectomy", "Open appendectomy"),
    ("Laparoscopic cholecystectomy", "Laparoscopic converted to open cholecystectomy"),
    ("Laparoscopic sigmoid colectomy", "Percutaneous drainage of pelvic abscess"),
    ("ERCP with sphincterotomy", "ERCP with placement of a biliary stent"),
    ("None",),
    ("Ureteroscopy",),
    ("Nasogastric tube",),
    ("None",),
    ("PICC placement",),
)
LEAKS = (
    "Outside CT was read as acute appendicitis, and the appendicitis was thought uncomplicated.",
    "Was told in clinic that this is Acute Cholecystitis; treated for cholecystitis before.",
    "Had DIVERTICULITIS two years ago, and this feels like the diverticulitis of that time.",
    "Known for pancreatitis; presents with another bout of acute pancreatitis.",
)
STEMS = (
    "The appendix was said to be dilated; peri-appendiceal fat and appendicitides were mentioned.",
    "A pericholecystic collection was seen. Offered a cholecystectomy last year.",
    "Has diverticulosis; a peridiverticular stranding was described.",
    "Stranding about the pancreas, with peripancreatic fluid and pancreatic edema.",
)
MEDICINES = (
    "Acetaminophen 500 mg PO Q6H:PRN pain",
    "Lisinopril 10 mg PO DAILY",
    "Atorvastatin 20 mg PO QPM",
    "Metformin 500 mg PO BID",
    "Omeprazole 20 mg PO DAILY",
    "Docusate Sodium 100 mg PO BID",
    "Ciprofloxacin 500 mg PO Q12H",
    "Metronidazole 500 mg PO Q8H",
    "Oxycodone 5 mg PO Q4H:PRN pain",
)
ALLERGIES = ("No Known Allergies / Adverse Drug Reactions", "Penicillins", "Sulfa", "___")
DISPOSITIONS = ("Home", "Home With Service\n \nFacility:\n___", "Extended Care\n \nFacility:\n___")
CONDITIONS = (
    "Mental Status: Clear and coherent.\nLevel of Consciousness: Alert and interactive.\n"
    "Activity Status: Ambulatory - Independent.",
    "Stable. Walks unaided, tolerates food.",
)
INSTRUCTIONS = (
    "Dear ___,\n\nYou came to us with belly pain and are now well enough to leave. Drink plenty, "
    "rest, and call if fever or vomiting returns.\n\nYour ___ Team",
    "You were treated for belly pain. Do not lift anything heavy for ___ weeks. The wound may get "
    "wet in the shower. Call us for redness, discharge from the wound, or fever above ___.",
)

# Radiology: what is seen, by condition, and how it is summed up.
CT_FINDINGS = (
    "The appendix is dilated to ___ mm with a hyperenhancing wall and stranding of the fat.",
    "The gallbladder is distended with a thick wall and a trace of pericholecystic fluid.",
    "A segment of sigmoid colon is thickened with stranding around an outpouching.",
    "The pancreas is swollen and its outlines are hazy, with fluid in the left anterior space.",
    "Fluid-filled loops of bowel without a point of narrowing.",
    "A 4 mm stone lies in the lower ureter with fullness of the collecting system above it.",
    "Small bowel loops measure up to 4 cm and taper in the mid pelvis.",
    "A simple cyst of 5 cm arises from the ovary.",
    "The wall of the bladder is thickened; the kidneys enhance evenly.",
)
US_FINDINGS = (
    "A blind-ending tube that does not compress is seen in the right lower quadrant.",
    "Several shadowing stones; the wall measures 6 mm and the sign of tenderness was elicited.",
    "Bowel gas hides most of the left lower quadrant.",
    "Small stones in the gallbladder; the head of the pancreas is hidden by gas.",
    "No focal abnormality is seen.",
    "Mild dilatation of the collecting system on one side.",
    "Dilated loops with to-and-fro motion.",
    "A thin-walled cyst without flow inside.",
    "Debris in the bladder.",
)
IMPRESSIONS = (
    "Findings in keeping with acute appendicitis. No drainable collection.",
    "Acute cholecystitis is likely. No dilatation of the common duct.",
    "Uncomplicated sigmoid diverticulitis. No free air.",
    "Acute interstitial pancreatitis without necrosis.",
    "Findings suggest enteritis.",
    "Small distal ureteral stone.",
    "Partial obstruction of the small bowel.",
    "Simple ovarian cyst.",
    "Cystitis.",
)
INDICATIONS = (
    "pain in the right lower quadrant // appendicitis?",
    "pain in the right upper quadrant // r/o cholecystitis",
    "left-sided pain and fever // evaluate for diverticulitis",
    "epigastric pain, lipase raised // pancreatitis? stones?",
    "diarrhea // colitis?",
    "flank pain // stone?",
    "vomiting // obstruction?",
    "pelvic pain // torsion?",
    "fever // pyelonephritis?",
)
NORMAL_ORGANS = (
    ("HEPATOBILIARY", "The liver has an even texture. The bile ducts are not widened."),
    ("SPLEEN", "The spleen is not enlarged and shows no focal lesion."),
    ("ADRENALS", "Both adrenal glands have a usual shape."),
    ("URINARY", "The kidneys are of like size, without stones or hydronephrosis."),
    ("GASTROINTESTINAL", "The stomach is collapsed. Contrast has reached the colon."),
    ("VASCULAR", "The aorta is of normal caliber with a few calcified plaques."),
    ("BONES", "No worrisome bone lesion; mild wear of the lower spine."),
)
CHEST = "The lungs are clear. Heart size is within limits. No effusion and no pneumothorax."
TECHNIQUES = {
    "ct": "Axial images from the lung bases to the symphysis.",
    "us": "Grey scale and color images of the upper abdomen.",
    "mr": "Multiplanar sequences, thick-slab and thin-slab.",
    "chest": "Two views.",
    "nuclear": "Serial images after injection of a tracer excreted in bile.",
}
