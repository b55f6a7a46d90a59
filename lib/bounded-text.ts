/** Reads a stream as UTF-8 text; null: it has more bytes than the limit, and the rest is left unread. */
export const boundedText = async (
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limitBytes: number,
): Promise<string | null> => {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limitBytes) return null;
    read.push(chunk);
  }
  return Buffer.concat(read).toString("utf8");
};

/** Parses JSON; undefined: the text is null or not JSON. */
export const parseJson = (text: string | null): unknown => {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};
