// Uploads a dropped picture, saves a record with it, and shows the picture of the record.
//
// The fragment of its address has what a page of an application knows: the service, its address for uploads, the token of
// a user, and whether uploads are resumable.
const options = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const target = document.querySelector("#target");
const bar = document.querySelector("progress");
const state = document.querySelector("#state");
const authorization = {Authorization: `Bearer ${options.token}`};

// What the test looks at.
window.seen = {progress: [], cuts: 0, violations: []};
document.addEventListener("securitypolicyviolation", event => seen.violations.push(event.blockedURI));

target.addEventListener("dragover", event => event.preventDefault());
target.addEventListener("drop", event => {
  event.preventDefault();
  process(event.dataTransfer.files[0]).catch(error => { state.textContent = `failed: ${error.message}`; });
});

async function process(file) {
  state.textContent = "uploading";
  const asset = await (options.resumable ? uploadResumably(file) : uploadAtOnce(file));
  await call("record:save", {records: [{_id: options.record, picture: {$type: "asset", $name: asset.$name}}]});
  const [record] = await call("record:fetch", {ids: [options.record]});
  const image = new Image();
  image.id = "picture";
  image.src = record.picture.$url;
  await image.decode();
  document.body.append(image);
  state.textContent = `shown ${image.naturalWidth} x ${image.naturalHeight}`;
}

function show(sent, total) {
  bar.value = sent / total;
  seen.progress.push(sent);
}

async function uploadAtOnce(file) {
  const address = `${options.uploads}/files?filename=${encodeURIComponent(file.name)}`;
  const request = await send("POST", address, {"Content-Type": file.type}, file, sent => show(sent, file.size));
  if (request.status !== 201) throw new Error(`${request.status} ${request.responseText}`);
  return JSON.parse(request.responseText).result;
}

// tus 1.0.0: creation, and parts that go on where the last one was cut.
async function uploadResumably(file) {
  const tus = {"Tus-Resumable": "1.0.0"};
  const metadata = `filename ${base64(file.name)},filetype ${base64(file.type)}`;
  const created = await send("POST", `${options.uploads}/files/tus`,
    {...tus, "Upload-Length": String(file.size), "Upload-Metadata": metadata});
  if (created.status !== 201) throw new Error(`${created.status} ${created.responseText}`);
  const address = new URL(created.getResponseHeader("Location"), `${options.uploads}/files/tus`);
  let offset = 0;
  for (;;) {
    const head = {...tus, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream"};
    const part = file.slice(offset);
    const patched = await send("PATCH", address, head, part, sent => show(offset + sent, file.size)).catch(() => null);
    if (patched?.status === 204) return JSON.parse(patched.getResponseHeader("X-Skyrow-Asset"));
    // A browser sends a request of a cut connection again by itself, and then its offset is that of before the cut.
    const continues = !patched || [409, 423].includes(patched.status) || patched.status >= 500;
    if (!continues) throw new Error(`${patched.status} ${patched.responseText}`);
    if (++seen.cuts > 100) throw new Error("the connection is cut again and again");
    const found = await send("HEAD", address, tus).catch(() => null);
    if (found) offset = Number(found.getResponseHeader("Upload-Offset"));
  }
}

function send(method, address, headers, body = null, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    for (const [name, value] of Object.entries({...authorization, ...headers})) request.setRequestHeader(name, value);
    request.upload.onprogress = event => progress(event.loaded);
    request.onload = () => resolve(request);
    request.onerror = () => reject(new Error("the connection was cut"));
    request.send(body);
  });
}

async function call(method, params) {
  const response = await fetch(`${options.service}/rpc`, {
    method: "POST",
    headers: {...authorization, "Content-Type": "application/json"},
    body: JSON.stringify({jsonrpc: "2.0", id: 1, method, params}),
  });
  const {result, error} = await response.json();
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
