import DOMPurify from "dompurify";
import { marked } from "marked";
import { useEffect, useRef } from "react";

// Text draws Markdown without anything that loads, runs, or leads the reader away unseen: pictures
// become links, and a link opens elsewhere.
export function Text({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const clean = DOMPurify.sanitize(marked.parse(text, { async: false, gfm: true }), {
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
