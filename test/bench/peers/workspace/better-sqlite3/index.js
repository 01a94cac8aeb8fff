import { DatabaseSync } from 'node:sqlite';

class Database extends DatabaseSync {
  pragma(text) {
    this.exec(`pragma ${text}`);
  }

  prepare(sql) {
    const statement = super.prepare(sql);
    // Theirs takes what is undefined for null.
    const bound = (values) => values.map((value) => value ?? null);
    return {
      run: (...values) => statement.run(...bound(values)),
      get: (...values) => statement.get(...bound(values)),
      all: (...values) => statement.all(...bound(values)),
    };
  }

  transaction(work) {
    return (...given) => {
      this.exec('begin');
      try {
        const result = work(...given);
        this.exec('commit');
        return result;
      } catch (error) {
        this.exec('rollback');
        throw error;
      }
    };
  }
}

// biome-ignore lint/style/noDefaultExport: it is the interface of the package.
export { Database as default };
