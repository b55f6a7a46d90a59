type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Reads a stream; null: it has more bytes than the limit, and the rest is left unread. */
export const boundedBytes = async (chunks: Chunks, limitBytes: number): Promise<Buffer | null> => {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limitBytes) return null;
    read.push(chunk);
  }
  return Buffer.concat(read);
};

/** The same as UTF-8 text. */
export const boundedText = async (chunks: Chunks, limitBytes: number): Promise<string | null> =>
  (await boundedBytes(chunks, limitBytes))?.toString("utf8") ?? null;

/** Parses JSON; undefined: the text is null or not JSON. */
export const parseJson = (text: string | null): unknown => {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};
