import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Schemas } from "../api";
import { Failure } from "../parts";
import { useTexts } from "../texts";
import { straight } from "./straight";

type File = Schemas["ChatFile"];

// drawn are the pictures that a page shows; every other file is only downloaded.
const drawn = /^image\/(png|jpeg|gif|webp)$/;

// download gives a file to the person, without leaving the page.
export function download(name: string, parts: BlobPart[], type: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Files shows the pictures and other files of a message. The bytes are read when somebody opens one.
export function Files({ files }: { files: File[] }) {
  return <>{files.map((f, i) => <One key={(f.sha256 ?? f.name) + i} file={f} />)}</>;
}

function One({ file }: { file: File }) {
  const t = useTexts();
  const [open, setOpen] = useState(false);
  const found = useQuery({
    queryKey: ["file", file.sha256],
    enabled: open && !file.data && !!file.sha256,
    staleTime: Infinity,
    queryFn: () => answer(api.GET("/admin/files/{sha256}", { params: { path: { sha256: file.sha256! } } })),
  });
  const data = file.data ?? found.data?.data;
  const type = file.media_type ?? found.data?.media_type ?? "application/octet-stream";
  const size = file.size ?? found.data?.size;
  const save = () => data && download(straight(file.name), [Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], drawn.test(type) || type === "application/pdf" ? type : "application/octet-stream");
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{straight(file.name ?? "") || t.file} <span className="soft">{type}{size ? ` · ${Math.ceil(size / 1024)} kB` : ""}</span></summary>
      {found.error && <Failure error={found.error} again={() => found.refetch()} />}
      {found.isLoading && <p className="soft">{t.loading}</p>}
      {open && !data && !found.isLoading && !found.error && <p className="soft">{t.notKept}</p>}
      {data && drawn.test(type) && <img className="picture" alt={file.name} src={`data:${type};base64,${data}`} />}
      {data && <p><button onClick={save}>{t.download}</button></p>}
    </details>
  );
}
