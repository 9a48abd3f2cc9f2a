// Shows the OpenAPI document of this server. Everything is inserted as text, never as markup.
"use strict";

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function block(title, method, value) {
  const summary = element("summary");
  if (method) {
    const label = element("span", method.toUpperCase());
    label.className = "method";
    summary.append(label);
  }
  summary.append(element("code", title));
  const details = element("details", "", summary);
  if (value.description) details.append(element("p", value.description));
  details.append(element("pre", JSON.stringify(value, null, 2)));
  return details;
}

async function show() {
  const answer = await fetch("openapi.json");
  const found = await answer.json();
  const about = document.getElementById("about");
  if (!answer.ok) {
    about.textContent = found.detail;
    return;
  }
  about.textContent = `${found.info.title} ${found.info.version}. ${found.info.description}`;
  const operations = document.getElementById("operations");
  for (const [path, methods] of Object.entries(found.paths).sort()) {
    for (const [method, operation] of Object.entries(methods)) operations.append(block(path, method, operation));
  }
  const schemas = document.getElementById("schemas");
  for (const [name, schema] of Object.entries(found.components.schemas || {}).sort()) schemas.append(block(name, "", schema));
}

show();
