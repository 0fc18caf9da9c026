/** A server or database cannot keep tasks, however often it is tried. */
export class Unfit extends Error {}
