import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useEffect, useRef } from "react";

// HTML in a text is a text: nothing of it is even parsed.
const markdown = new Marked({ gfm: true, async: false, renderer: { html: ({ text }) => text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`) } });

// Text draws Markdown without anything that loads, runs, or leads the reader away unseen: pictures
// become links, and a link opens elsewhere.
export function Text({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const clean = DOMPurify.sanitize(markdown.parse(text) as string, {
      FORBID_TAGS: ["img", "svg", "math", "style", "form", "input", "button", "iframe", "video", "audio", "object"],
      FORBID_ATTR: ["style", "class", "id", "name"],
      ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
      RETURN_DOM_FRAGMENT: true,
    });
    for (const link of clean.querySelectorAll("a")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer nofollow";
    }
    place.current?.replaceChildren(clean);
  }, [text]);
  return <div ref={place} />;
}
