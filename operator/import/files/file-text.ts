import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { cannotRead } from "../../text-file.ts";

const GZIP = [0x1f, 0x8b];

/** @throws OperatorError */
const isGzip = async (file: string): Promise<boolean> => {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
      return bytesRead === 2 && GZIP.every((byte, index) => buffer[index] === byte);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw cannotRead(file, error);
  }
};

/** A file's bytes, uncompressed. An error while reading goes to the reader of the stream. */
export const openFile = async (file: string): Promise<Readable> => {
  const isCompressed = await isGzip(file);
  const bytes = createReadStream(file, { highWaterMark: 256 * 1024 });
  return isCompressed ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
};

const BEGINNING_BYTES = 256 * 1024;

/** The beginning of a file's text, uncompressed, without its byte order mark. */
export const beginningOf = async (file: string): Promise<string> => {
  const stream = await openFile(file);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      length += bytes.length;
      if (length >= BEGINNING_BYTES) break;
    }
  } catch (error) {
    throw cannotRead(file, error);
  } finally {
    stream.destroy();
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/^\ufeff/, "");
};
