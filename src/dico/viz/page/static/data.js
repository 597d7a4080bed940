/** What the report found in the run folders: JSON, with long arrays as base64. */

export const report = JSON.parse(document.getElementById("payload").textContent);
