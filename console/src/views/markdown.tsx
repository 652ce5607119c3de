import DOMPurify from "dompurify";
import { Marked, type Tokens } from "marked";
import { useEffect, useRef } from "react";
import { turned } from "./straight";

const escape = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// HTML in a text is a text: nothing of it is even parsed. A line is a line, as models mean it.
const markdown = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: ({ text }) => (/^<br ?\/?>$/.test(text) ? "<br>" : escape(text)),
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), // nobody can tick it
  },
  tokenizer: {
    def: (source) => (/^ {0,3}\[\^/.test(source) ? undefined : false), // a footnote is a text, and no address of a link
    escape: (source) => (/^\\[()[\]]/.test(source) ? { type: "escape", raw: source.slice(0, 2), text: source.slice(0, 2) } : false), // a formula
    url(source) {
      const address = /^https?:\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]+/.exec(source)?.[0];
      if (!address || !/[\u3000-\u303f\uff00-\uffef]/.test(source[address.length] ?? "")) return false;
      return { type: "link", raw: address, text: address, href: address, tokens: [{ type: "text", raw: address, text: address }] } as Tokens.Link;
    },
  },
  extensions: [
    {
      // **注意：**请看 has no space by which CommonMark would know the end.
      name: "bold", level: "inline", start: (source) => source.indexOf("**"),
      tokenizer(source) {
        const found = /^\*\*(?![\s*])((?:[^*]|\*(?!\*))+?)(?<!\s)\*\*(?!\*)/.exec(source);
        return found ? { type: "strong", raw: found[0], text: found[1], tokens: this.lexer.inlineTokens(found[1]) } : undefined;
      },
    },
    {
      // The stars of 2*3*4 are no emphasis.
      name: "product", level: "inline", start: (source) => source.search(/\d\*\d/),
      tokenizer(source) {
        const found = /^\d+(?:\*\d+)+/.exec(source);
        return found ? { type: "text", raw: found[0], text: found[0] } : undefined;
      },
    },
    {
      name: "dunder", level: "inline", start: (source) => source.indexOf("__"),
      tokenizer(source) {
        const found = /^__(?:init|main|name|file|all|dict|call|str|repr|new|class|doc|enter|exit)__/.exec(source);
        return found ? { type: "text", raw: found[0], text: found[0] } : undefined;
      },
    },
  ],
});

// cells keeps a | of code in a table's row within its cell, where models write it without the backslash.
function cells(text: string) {
  let fenced = false;
  return text.split("\n").map((line) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    return fenced || !/^\s*\|/.test(line) ? line : line.replace(/`[^`]*`/g, (code) => code.replace(/(?<!\\)\|/g, "\\|"));
  }).join("\n");
}

// parse returns the HTML of a text; one that nests too deep stays a text.
function parse(text: string) {
  const plain = text.replace(turned, "");
  try {
    return markdown.parse(cells(plain)) as string;
  } catch {
    return escape(plain);
  }
}

// Text draws Markdown without anything that loads, runs, or leads the reader away unseen: pictures
// become links, and a link opens elsewhere.
export function Text({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const clean = DOMPurify.sanitize(parse(text), {
      FORBID_TAGS: ["img", "svg", "math", "style", "form", "input", "button", "iframe", "video", "audio", "object"],
      FORBID_ATTR: ["style", "class", "id", "name"],
      ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
      RETURN_DOM_FRAGMENT: true,
    });
    for (const link of clean.querySelectorAll("a")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer nofollow";
    }
    for (const wide of clean.querySelectorAll("table, pre")) {
      const frame = document.createElement("div");
      frame.className = "scroll";
      frame.tabIndex = 0; // the keyboard scrolls it
      wide.replaceWith(frame);
      frame.append(wide);
    }
    place.current?.replaceChildren(clean);
  }, [text]);
  return <div ref={place} />;
}
