// Signs in with the code after "#code=", which browsers do not send to servers, or with the token of the form.
"use strict";

const message = document.getElementById("message");
const form = document.getElementById("form");

async function signIn(body) {
  const answer = await fetch("api/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) {
    message.textContent = found.detail;
    return;
  }
  form.hidden = true;
  message.textContent = `Signed in as ${found.name} (${found.role}). `;
  const link = document.createElement("a");
  link.href = "api/docs";
  link.textContent = "The API";
  message.append(link);
}

const code = new URLSearchParams(location.hash.slice(1)).get("code");
if (code) {
  history.replaceState(null, "", location.pathname);
  signIn({ code });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const token = document.getElementById("token").value.trim();
  form.reset();
  signIn({ token });
});
