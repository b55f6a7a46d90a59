/** Reads an environment variable that `npm run bench` passes to its sections. */
export const requiredVariable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run \`npm run bench\`.`);
  return value;
};
