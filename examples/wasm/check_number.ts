// Which check digits of a number are right? Written in AssemblyScript; see
// package.json for how it is built.
//
// It is a WASI preview 1 command: {"number": "..."} on standard input, one JSON
// value on standard output.

@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: i32, vectors: usize, count: i32, done: usize): i32;
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, vectors: usize, count: i32, done: usize): i32;
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: i32): void;

const vector = memory.data(8); // where and how long
const done = memory.data(4);
const buffer = memory.data(4096);
const most: i32 = 4096;

function read(): i32 {
  let length: i32 = 0;
  while (length < most) {
    store<u32>(vector, <u32>(buffer + length));
    store<u32>(vector, <u32>(most - length), 4);
    if (fd_read(0, vector, 1, done) != 0) break;
    const n = load<i32>(done);
    if (n == 0) break;
    length += n;
  }
  return length;
}

function write(fd: i32, text: string): void {
  const bytes = String.UTF8.encode(text);
  store<u32>(vector, <u32>changetype<usize>(bytes));
  store<u32>(vector, <u32>bytes.byteLength, 4);
  fd_write(fd, vector, 1, done);
}

// argument returns what of a JSON object's one text counts: digits and capital
// letters. Text before the colon is the key.
function argument(length: i32): string {
  let text = "", value = false;
  for (let i = 0; i < length; i++) {
    const c = load<u8>(buffer + i);
    if (c == 0x3a) value = true; // :
    if (!value) continue;
    if (c == 0x5c) { i += load<u8>(buffer + i + 1) == 0x75 ? 5 : 1; continue; } // an escape such as \n or \u2013
    if ((c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a)) text += String.fromCharCode(c);
    else if (c >= 0x61 && c <= 0x7a) text += String.fromCharCode(c - 32);
  }
  return text;
}

function digits(text: string): bool {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x30 || c > 0x39) return false;
  }
  return text.length > 0;
}

// luhn is the check of payment cards and IMEIs: every second digit from the right
// is doubled.
function luhn(text: string): bool {
  let sum = 0;
  for (let i = 0; i < text.length; i++) {
    let d = text.charCodeAt(text.length - 1 - i) - 0x30;
    if (i % 2 == 1) { d *= 2; if (d > 9) d -= 9; }
    sum += d;
  }
  return sum % 10 == 0;
}

// ean is the check of EAN, GTIN and ISBN-13: weights 1 and 3 from the right.
function ean(text: string): bool {
  let sum = 0;
  for (let i = 0; i < text.length; i++) {
    sum += (text.charCodeAt(text.length - 1 - i) - 0x30) * (i % 2 == 1 ? 3 : 1);
  }
  return sum % 10 == 0;
}

// isbn10 has weights 10 to 1, and an X that stands for 10 at its end.
function isbn10(text: string): bool {
  let sum = 0;
  for (let i = 0; i < 10; i++) {
    const c = text.charCodeAt(i);
    sum += (10 - i) * (c == 0x58 ? 10 : c - 0x30);
  }
  return sum % 11 == 0;
}

// iban is right when its number, the first four characters moved to the end and
// letters written as 10 to 35, leaves 1 when divided by 97.
function iban(text: string): bool {
  let rest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt((i + 4) % text.length);
    rest = c <= 0x39 ? (rest * 10 + c - 0x30) % 97 : (rest * 100 + c - 55) % 97;
  }
  return rest == 1;
}

function check(text: string): string {
  const n = text.length;
  const tail = n == 10 && text.endsWith("X") ? text.substring(0, 9) : text;
  if (n >= 15 && n <= 34 && !digits(text.substring(0, 1)) && !digits(text.substring(1, 2)) && digits(text.substring(2, 4)))
    return '"IBAN":' + iban(text).toString();
  if (!digits(tail)) return "";
  let found = "";
  if (n == 10) found += ',"ISBN-10":' + isbn10(text).toString();
  if (n == 13 && (text.startsWith("978") || text.startsWith("979"))) found += ',"ISBN-13":' + ean(text).toString();
  else if (n == 8 || n == 12 || n == 13 || n == 14) found += ',"EAN":' + ean(text).toString();
  if (n >= 12 && n <= 19) found += ',"payment card or IMEI (Luhn)":' + luhn(text).toString();
  return found.substring(1);
}

export function _start(): void {
  const length = read();
  const text = argument(length);
  const found = length < most ? check(text) : "";
  if (found.length == 0) {
    write(2, "this is no IBAN, ISBN, EAN, payment card or IMEI: those have 8 to 34 letters and digits\n");
    proc_exit(1);
  }
  write(1, '{"number":"' + text + '","right":{' + found + "}}\n");
}
